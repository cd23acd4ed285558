//! Which networks of a routing domain have their subnets: those of two networks must not overlap,
//! or an address would be routed to one of them only. Addresses within a network's own subnets are
//! not compared.

use super::arbiter::{Arbiter, Claim, Request, Resource};
use super::conflict::Conflicts;
use crate::cache::objects::{Compiled, Network};
use ipnet::IpNet;
use std::collections::BTreeMap;
use usnet_crds::conditions::message::gateway as message;
use usnet_crds::conditions::reason::SUBNET_TAKEN;
use usnet_crds::{Gateway, RoutingDomain};

/// A subnet in a routing domain.
#[derive(Debug, Clone, Copy)]
struct Subnet<'a> {
    domain: &'a RoutingDomain,
    subnet: IpNet,
}

impl<'a> Resource for Subnet<'a> {
    type Key = &'a RoutingDomain;

    const TAKEN: &'static str = SUBNET_TAKEN;

    fn key(&self) -> Self::Key {
        self.domain
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.subnet.contains(&other.subnet) || other.subnet.contains(&self.subnet)
    }

    fn taken(&self, network: &str, claim: &Claim<'_, Self>) -> String {
        message::subnet_taken((network, self.subnet), (claim.network, claim.resource.subnet), self.domain)
    }
}

/// The conflicts among these networks and compiled networks.
pub fn conflicts(networks: &BTreeMap<String, Network>, compiled: &BTreeMap<String, Compiled>) -> Conflicts {
    let requests = networks.iter().filter_map(|(name, network)| request(name, network, compiled.get(name)));
    let claims = compiled.iter().flat_map(|(network, compiled)| {
        held(compiled).into_iter().flat_map(subnets).map(move |resource| Claim { network, resource })
    });
    Arbiter::new(networks).decide(requests.collect(), claims)
}

/// The gateway of a network whose spec is valid, if it is in a routing domain.
pub(crate) fn gateway(network: &Network) -> Option<&Gateway> {
    network.spec.as_ref().ok()?.gateway.as_ref().filter(|gateway| gateway.routing_domain.is_some())
}

/// The gateway that a network was compiled with, if it is in a routing domain.
pub(crate) fn held(compiled: &Compiled) -> Option<&Gateway> {
    compiled.selection.as_ref()?.gateway.as_ref().filter(|gateway| gateway.routing_domain.is_some())
}

fn subnets(gateway: &Gateway) -> impl Iterator<Item = Subnet<'_>> {
    let of_domain = |domain| gateway.addresses.iter().map(move |address| Subnet { domain, subnet: address.subnet() });
    gateway.routing_domain.iter().flat_map(of_domain)
}

fn request<'a>(name: &'a str, network: &'a Network, compiled: Option<&'a Compiled>) -> Option<Request<'a, Subnet<'a>>> {
    let (gateway, held) = (gateway(network)?, compiled.and_then(held));
    // A network that is being deleted and was not compiled leaves before nodes had it.
    let is_none = network.is_deleting() && held.is_none();
    let (resources, is_held) = (subnets(gateway).collect(), held == Some(gateway));
    (!is_none).then_some(Request { name, network, resources, is_held })
}
