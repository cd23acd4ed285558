//! Which networks may have the subnets of their gateways: those of one routing domain must not
//! overlap, whatever their nodes. It follows from networks and compiled networks alone, so that a
//! restart changes nothing:
//!
//! - a network keeps the subnets that it has been compiled with;
//! - a subnet that a compiled network has is not free, whatever the network requests now;
//! - of several networks that request one, the oldest gets it.

use super::conflict::Conflict;
use super::objects::{Compiled, Network};
use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::conditions::message::gateway as message;
use usnet_crds::conditions::reason::SUBNET_TAKEN;
use usnet_crds::{Gateway, RoutingDomain};

/// The conflicts in all routing domains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoutingDomains {
    /// By the name of the network.
    conflicts: BTreeMap<String, Conflict>,
}

/// A network in a routing domain.
#[derive(Debug, Clone, Copy)]
struct Request<'a> {
    name: &'a str,
    network: &'a Network,
    gateway: &'a Gateway,
    /// What it was compiled with.
    held: Option<&'a Gateway>,
}

/// The subnets of each domain, with the networks that have them.
type Claims<'a> = BTreeMap<&'a RoutingDomain, Vec<(IpNet, &'a str)>>;

impl RoutingDomains {
    /// Of these networks and compiled networks.
    pub fn of(networks: &BTreeMap<String, Network>, compiled: &BTreeMap<String, Compiled>) -> Self {
        let requests = networks.iter().filter_map(|(name, network)| Request::of(name, network, compiled.get(name)));
        let mut requests: Vec<Request<'_>> = requests.collect();
        requests.sort_by(|one, other| one.age().cmp(&other.age()));
        let (holders, others): (Vec<_>, Vec<_>) =
            requests.into_iter().partition(|request| request.held == Some(request.gateway));
        let (mut claims, mut conflicts) = (Claims::new(), BTreeMap::new());
        for holder in &holders {
            holder.decide(&mut claims, &mut conflicts, networks);
        }
        // What nodes have until the networks are compiled again.
        for (name, gateway) in compiled.iter().filter_map(|(name, compiled)| Some((name, held(compiled)?))) {
            if holders.iter().all(|holder| holder.name != name) {
                claim(&mut claims, name, gateway);
            }
        }
        for other in &others {
            other.decide(&mut claims, &mut conflicts, networks);
        }
        Self { conflicts }
    }

    /// Why the network cannot have its gateway; none if it can, or has none.
    pub fn conflict(&self, network: &str) -> Option<&Conflict> {
        self.conflicts.get(network)
    }

    /// The networks of which the conflict differs.
    pub fn changed_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = &'a String> {
        let names: BTreeSet<&String> = self.conflicts.keys().chain(before.conflicts.keys()).collect();
        names.into_iter().filter(|name| self.conflicts.get(*name) != before.conflicts.get(*name))
    }
}

/// The gateway of a network whose spec is valid, if it is in a routing domain.
pub(super) fn gateway(network: &Network) -> Option<&Gateway> {
    network.spec.as_ref().ok()?.gateway.as_ref().filter(|gateway| gateway.routing_domain.is_some())
}

pub(super) fn held(compiled: &Compiled) -> Option<&Gateway> {
    compiled.selection.as_ref()?.gateway.as_ref().filter(|gateway| gateway.routing_domain.is_some())
}

fn subnets(gateway: &Gateway) -> impl Iterator<Item = IpNet> {
    gateway.addresses.iter().map(|address| address.subnet())
}

fn claim<'a>(claims: &mut Claims<'a>, name: &'a str, gateway: &'a Gateway) {
    if let Some(domain) = &gateway.routing_domain {
        claims.entry(domain).or_default().extend(subnets(gateway).map(|subnet| (subnet, name)));
    }
}

impl<'a> Request<'a> {
    fn of(name: &'a str, network: &'a Network, compiled: Option<&'a Compiled>) -> Option<Self> {
        let (gateway, held) = (gateway(network)?, compiled.and_then(held));
        // It leaves before nodes had it.
        let is_none = network.is_deleting() && held.is_none();
        (!is_none).then_some(Self { name, network, gateway, held })
    }

    fn age(&self) -> (bool, Option<&'a Time>, &'a str) {
        (self.network.created.is_none(), self.network.created.as_ref(), self.name)
    }

    /// It has its subnets, unless others have one of them.
    fn decide(
        &self,
        claims: &mut Claims<'a>,
        conflicts: &mut BTreeMap<String, Conflict>,
        networks: &BTreeMap<String, Network>,
    ) {
        match self.conflict(claims, networks) {
            Some(conflict) => drop(conflicts.insert(self.name.to_owned(), conflict)),
            None => claim(claims, self.name, self.gateway),
        }
    }

    fn conflict(&self, claims: &Claims<'_>, networks: &BTreeMap<String, Network>) -> Option<Conflict> {
        let domain = self.gateway.routing_domain.as_ref()?;
        let others = || claims.get(domain).into_iter().flatten().filter(|(_, name)| *name != self.name);
        let overlaps = |one: &IpNet, other: &IpNet| one.contains(other) || other.contains(one);
        subnets(self.gateway).find_map(|own| {
            let (taken, holder) = others().find(|(taken, _)| overlaps(&own, taken))?;
            let message = message::subnet_taken((self.name, own), (holder, *taken), domain);
            Some(Conflict::taken(SUBNET_TAKEN, &message, (holder, networks)))
        })
    }
}
