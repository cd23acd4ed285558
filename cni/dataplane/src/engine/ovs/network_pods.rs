//! The pods of a network, as policies see them: those of the ports of its bridge, and the classes
//! of addresses. Pure.

use super::guarded::{FrameSource, GuardedPorts};
use super::network_policies::NetworkPolicies;
use super::policy::by_namespace::PoliciesByNamespace;
use super::policy::differing::differences;
use super::policy::{PolicyPort, PolicyPortState};
use crate::engine::policy_subjects::{class_of, peers, peers_among};
use crate::model::port::{Guard, GuardedAddresses};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::policy::pods::{KnownPod, KnownPods, PodAddresses, PodClass};
use usnet_crds::policy::verdict::is_known;
use usnet_openflow::PortNumber;

/// The pods of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NetworkPods {
    /// The ports of pods.
    pub(super) ports: Arc<BTreeMap<PortNumber, PolicyPort>>,
    /// The classes of addresses.
    pub(super) peers: Arc<PodAddresses>,
}

impl NetworkPods {
    pub(super) fn of(policies: &NetworkPolicies, ports: &GuardedPorts) -> Self {
        let mut classes = Classes::of(policies);
        let of_pods =
            ports.iter().filter_map(|(number, source)| Some((*number, port(policies, source, &mut classes)?)));
        let own = own_addresses(policies, ports, |_| true);
        Self { ports: Arc::new(of_pods.collect()), peers: Arc::new(peers(&policies.pods, own)) }
    }

    /// The same, given those of the same ports before: of thousands of pods of which one differs,
    /// the others are not looked at again. `None` if more than pods differs.
    pub(super) fn after(
        &self,
        before: &NetworkPolicies,
        policies: &NetworkPolicies,
        ports: &GuardedPorts,
    ) -> Option<Self> {
        let is_same = Arc::ptr_eq(&before.policies, &policies.policies) && before.owners == policies.owners;
        if !is_same {
            return None;
        }
        let Changed { uids, mut addresses } = Changed::between(&before.pods, &policies.pods);
        let mut after = self.clone();
        let changed_ports: Vec<_> = ports.iter().filter(|(_, source)| is_of(policies, source, &uids)).collect();
        if !changed_ports.is_empty() {
            let mut classes = Classes::of(policies);
            let changed = changed_ports
                .iter()
                .filter_map(|(number, source)| Some((**number, port(policies, source, &mut classes)?)));
            Arc::make_mut(&mut after.ports).extend(changed);
            addresses.extend(changed_ports.iter().flat_map(|(_, source)| guarded_addresses(source)));
        }
        if !addresses.is_empty() {
            let is_changed = |address: &IpAddr| addresses.contains(address);
            let with_changed = policies.pods.values().filter(|pod| pod.addresses.iter().any(is_changed));
            let own = own_addresses(policies, ports, is_changed);
            let PodAddresses(mut now) = peers_among(with_changed, &policies.pods, own);
            let PodAddresses(all) = Arc::make_mut(&mut after.peers);
            for address in &addresses {
                match now.remove(address) {
                    Some(class) => drop(all.insert(*address, class)),
                    None => drop(all.remove(address)),
                }
            }
        }
        Some(after)
    }
}

/// The pods that two states do not have in common, and all of their addresses.
struct Changed<'a> {
    uids: BTreeSet<&'a str>,
    addresses: BTreeSet<IpAddr>,
}

impl<'a> Changed<'a> {
    fn between(before: &'a KnownPods, now: &'a KnownPods) -> Self {
        let pods: Vec<(&String, &KnownPod)> = differences(before, now).concat();
        Self {
            uids: pods.iter().map(|(uid, _)| uid.as_str()).collect(),
            addresses: pods.iter().flat_map(|(_, pod)| &pod.addresses).copied().collect(),
        }
    }
}

/// Whether a port is that of one of these pods.
fn is_of(policies: &NetworkPolicies, source: &FrameSource, uids: &BTreeSet<&str>) -> bool {
    let FrameSource::Pod { attachment, .. } = source else { return false };
    !uids.is_empty() && policies.owners.get(attachment).is_some_and(|owner| uids.contains(owner.uid.as_str()))
}

/// The port of a pod. In a VLAN it is closed: frames are sent to isolated ports whatever VLAN they
/// are in.
fn port(policies: &NetworkPolicies, source: &FrameSource, classes: &mut Classes<'_>) -> Option<PolicyPort> {
    let FrameSource::Pod { guard: Guard { mac, pairs, .. }, is_trunk, is_in_vlan, attachment } = source else {
        return None;
    };
    let owner = policies.owners.get(attachment).filter(|_| !is_trunk && !is_in_vlan);
    let class = owner.and_then(|owner| classes.checked(class_of(&policies.pods, owner)));
    let state = class.map_or(PolicyPortState::Closed, PolicyPortState::OfClass);
    Some(PolicyPort { mac: *mac, virtual_macs: pairs.iter().map(|pair| pair.mac).collect(), state })
}

/// The addresses of ports that are asked for, each with the uid of its pod, if it is known.
fn own_addresses<'a>(
    policies: &'a NetworkPolicies,
    ports: &GuardedPorts,
    is_asked: impl Fn(&IpAddr) -> bool,
) -> BTreeMap<IpAddr, Option<&'a str>> {
    let mut own = BTreeMap::new();
    for source in ports.values() {
        let FrameSource::Pod { attachment, .. } = source else { continue };
        let uid = || policies.owners.get(attachment).map(|owner| owner.uid.as_str());
        own.extend(guarded_addresses(source).filter(&is_asked).map(|address| (address, uid())));
    }
    own
}

/// The addresses that a port may send from.
fn guarded_addresses(source: &FrameSource) -> impl Iterator<Item = IpAddr> {
    let addresses = match source {
        FrameSource::Pod { guard: Guard { addresses: GuardedAddresses::Only { addresses, .. }, .. }, .. } => {
            Some(addresses)
        }
        _ => None,
    };
    addresses.into_iter().flatten().copied()
}

/// Classes of pods, and whether it is known which policies are for each.
struct Classes<'a> {
    policies: PoliciesByNamespace<'a>,
    known: BTreeMap<Arc<PodClass>, bool>,
}

impl<'a> Classes<'a> {
    fn of(policies: &'a NetworkPolicies) -> Self {
        Self { policies: PoliciesByNamespace::of(&policies.policies), known: BTreeMap::new() }
    }

    /// The class; `None` if it is not known of each policy whether it is for the pods.
    fn checked(&mut self, class: Arc<PodClass>) -> Option<Arc<PodClass>> {
        let policies = &self.policies;
        let is_known = |class: &Arc<PodClass>| is_known(policies.of_namespace(class.namespace.as_str()), class);
        let is_known = *self.known.entry(Arc::clone(&class)).or_insert_with_key(is_known);
        is_known.then_some(class)
    }
}
