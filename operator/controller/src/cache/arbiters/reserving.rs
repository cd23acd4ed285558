//! Which reservations of a network get what they request. Those that the network was compiled with
//! come first, then the older ones; `attachments` of the network come before all.

use crate::cache::attachments::ObjectName;
use crate::cache::cluster::Cache;
use crate::cache::objects::Network;
use crate::cache::reservations::{Decision, Reservation, Verdict};
use kube::core::SelectorExt;
use std::collections::BTreeMap;
use usnet_common::shares::Shares;
use usnet_crds::conditions::message::reservation::{self as message, Holder};
use usnet_crds::conditions::reason::{ALREADY_RESERVED, NETWORK_UNKNOWN, NOT_ALLOWED, TOO_MANY_RESERVATIONS};
use usnet_crds::network::RESERVATIONS_MAX;
use usnet_crds::reservation::allowed::Allowed;
use usnet_crds::reservation::validate::ValidReservation;
use usnet_crds::validate::ValidNetwork;
use usnet_crds::{FixedAttachment, NetworkName};

/// A reservation with what it requests.
struct Request<'a> {
    name: &'a ObjectName,
    reservation: &'a Reservation,
    valid: &'a ValidReservation,
}

/// What has a pod or an address.
struct Owner<'a> {
    fixed: FixedAttachment,
    /// None for the network itself.
    reservation: Option<&'a ObjectName>,
}

/// The decision on all reservations of a network.
pub(crate) fn decide(cache: &Cache, network: &str) -> Decision {
    let requests = requests(cache, network);
    let refuse_all = |reason, message: fn(&NetworkName) -> String| {
        let refuse = |it: &Request<'_>| (it.name.clone(), refused(reason, message(&it.valid.network)));
        requests.iter().map(refuse).collect()
    };
    let valid = match cache.networks.get(network) {
        None => return refuse_all(NETWORK_UNKNOWN, message::network_unknown),
        Some(network) if network.is_deleting() => return refuse_all(NETWORK_UNKNOWN, message::network_deleting),
        Some(Network { spec: Err(_), .. }) => {
            return requests.iter().map(|it| (it.name.clone(), Verdict::Unknown)).collect();
        }
        Some(Network { spec: Ok(valid), .. }) => valid,
    };
    match &valid.reservations {
        Some(allowed) => Decider::new(cache, valid, allowed).decide(requests),
        None => refuse_all(NOT_ALLOWED, message::no_reservations),
    }
}

fn refused(reason: &'static str, message: String) -> Verdict {
    Verdict::Refused { reason, message }
}

/// The requests, the oldest first.
fn requests<'a>(cache: &'a Cache, network: &'a str) -> Vec<Request<'a>> {
    let request = |(name, reservation): (&'a ObjectName, &'a Reservation)| {
        let valid = reservation.spec.as_ref().ok().filter(|_| !reservation.is_deleting)?;
        Some(Request { name, reservation, valid })
    };
    let mut requests: Vec<_> = cache.reservations.of_network(network).filter_map(request).collect();
    let age = |it: &Request<'_>| (it.reservation.created.is_none(), it.reservation.created.clone());
    requests.sort_by(|one, other| (age(one), &one.reservation.uid).cmp(&(age(other), &other.reservation.uid)));
    requests
}

struct Decider<'a> {
    cache: &'a Cache,
    network: &'a ValidNetwork,
    allowed: &'a Allowed,
    owners: Vec<Owner<'a>>,
    places: Shares<'a>,
    /// What the compiled network fixes.
    compiled: &'a [FixedAttachment],
    decision: Decision,
}

impl<'a> Decider<'a> {
    fn new(cache: &'a Cache, network: &'a ValidNetwork, allowed: &'a Allowed) -> Self {
        let compiled = cache.compiled.get(network.name.as_str());
        let owners = network.attachments.iter().map(|fixed| Owner { fixed: fixed.clone(), reservation: None });
        Self {
            cache,
            network,
            allowed,
            owners: owners.collect(),
            places: Shares::halves(RESERVATIONS_MAX),
            compiled: compiled.map(|compiled| compiled.attachments.as_slice()).unwrap_or_default(),
            decision: Decision::new(),
        }
    }

    fn decide(mut self, requests: Vec<Request<'a>>) -> Decision {
        let mut candidates = Vec::new();
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for request in requests {
            let seen = seen.entry(request.name.namespace.as_str()).or_default();
            *seen += 1;
            match self.allowed(&request, *seen) {
                Ok(fixed) => candidates.push((request, fixed)),
                Err((reason, message)) => {
                    self.decision.insert(request.name.clone(), refused(reason, message));
                }
            }
        }
        let (held, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|(_, fixed)| self.holds(fixed));
        for (is_held, (request, fixed)) in
            held.into_iter().map(|it| (true, it)).chain(others.into_iter().map(|it| (false, it)))
        {
            let verdict = self.verdict(request.name, fixed, is_held);
            self.decision.insert(request.name.clone(), verdict);
        }
        self.decision
    }

    /// What a reservation fixes, as far as that does not depend on others. `seen`: how many of its
    /// namespace come before it, itself included. Where there are more than there are places, the
    /// rest is not looked at, so that one namespace costs a limited time.
    fn allowed(&self, request: &Request<'_>, seen: usize) -> Result<FixedAttachment, (&'static str, String)> {
        let (namespace, network) = (request.name.namespace.as_str(), &self.network.name);
        let labels = self.cache.namespaces.get(namespace).map(|namespace| &namespace.labels);
        if !labels.is_some_and(|labels| self.network.namespaces.matches(labels)) {
            return Err((NOT_ALLOWED, message::not_selected(network, namespace)));
        }
        if seen > RESERVATIONS_MAX {
            return Err((TOO_MANY_RESERVATIONS, message::namespace_has_share(network, namespace)));
        }
        let fixed = self.allowed.fixed(namespace, request.valid);
        fixed.map_err(|invalid| (NOT_ALLOWED, invalid.to_string()))
    }

    /// Whether the compiled network has these addresses for these pods.
    fn holds(&self, fixed: &FixedAttachment) -> bool {
        let claim = |it: &FixedAttachment| (it.namespace.clone(), it.pod.clone(), it.ips.clone(), it.mac);
        self.compiled.iter().any(|compiled| claim(compiled) == claim(fixed))
    }

    fn verdict(&mut self, name: &'a ObjectName, fixed: FixedAttachment, is_held: bool) -> Verdict {
        let network = &self.network.name;
        if let Some((what, owner)) = self.owners.iter().find_map(|owner| Some((common(&owner.fixed, &fixed)?, owner))) {
            let holder = match owner.reservation {
                None => Holder::Network(network),
                Some(other) if other.namespace == name.namespace => Holder::Reservation(&other.name),
                Some(_) => Holder::OtherNamespace,
            };
            return refused(ALREADY_RESERVED, message::taken(&what, &holder));
        }
        if self.places.taken() >= RESERVATIONS_MAX {
            return refused(TOO_MANY_RESERVATIONS, message::network_is_full(network));
        }
        if !is_held && !self.places.may_take(&name.namespace) {
            return refused(TOO_MANY_RESERVATIONS, message::namespace_has_share(network, &name.namespace));
        }
        self.places.take(&name.namespace);
        self.owners.push(Owner { fixed: fixed.clone(), reservation: Some(name) });
        Verdict::Fixed(fixed)
    }
}

/// A pod, an address or a MAC address that both have.
fn common(one: &FixedAttachment, other: &FixedAttachment) -> Option<String> {
    if one.namespace == other.namespace && one.pod.overlaps(&other.pod) {
        return Some(format!("a pod of {}", other.pod));
    }
    let ips = one.ips.iter().flat_map(|ip| other.ips.iter().map(move |own| (ip, own)));
    let ip = ips.filter_map(|(ip, own)| {
        let ends = (ip.ip(), ip.after(one.pod.last_place())?.ip());
        first_common(ends, (own.ip(), own.after(other.pod.last_place())?.ip()))
    });
    let mac = || {
        let (mac, own) = (one.mac?, other.mac?);
        first_common((mac, mac.after(one.pod.last_place())?), (own, own.after(other.pod.last_place())?))
    };
    let ip = ip.map(|ip| format!("address {ip}")).next();
    ip.or_else(|| mac().map(|mac| format!("MAC address {mac}")))
}

fn first_common<T: Ord>(one: (T, T), other: (T, T)) -> Option<T> {
    (one.0 <= other.1 && other.0 <= one.1).then(|| one.0.max(other.0))
}
