//! From a snapshot of VPP to the observed state. Pure.

mod addresses;

use super::snapshot::{BridgeDomain, Interface, VppSnapshot};
use super::{port_settings, routing};
use crate::engine::vpp::ports::SPLIT_HORIZON_GROUP;
use crate::model::bridge::BridgeOwner;
use crate::model::memif::MemifSocketIds;
use crate::model::observed::{DpdkSupport, ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::model::owner::{Owner, PortOwner};
use crate::model::port::{PortBackend, PortName};
use std::collections::{BTreeMap, BTreeSet};

/// The observed state. Implicit bridge domains are not reported: ports in them are unbridged.
pub(super) fn observe(snapshot: &VppSnapshot, own_socket_ids: MemifSocketIds) -> Observed {
    let names = names(snapshot);
    let is_bridge = |domain: &BridgeDomain| !snapshot.is_implicit(domain);
    let bridges = snapshot.domains.iter().filter(|(_, domain)| is_bridge(domain));
    let mut bridges: BTreeMap<u32, ObservedBridge> =
        bridges.map(|(id, domain)| (*id, observe_domain(domain))).collect();
    let mut unbridged_ports = BTreeMap::new();
    for (index, interface) in snapshot.interfaces.iter().filter(|(_, interface)| interface.gateway.is_none()) {
        let Some(name) = names.get(index).cloned() else { continue };
        let domain = snapshot.domain_of(*index, interface);
        match domain.and_then(|id| bridges.get_mut(&id)) {
            Some(bridge) => drop(bridge.ports.insert(name, observe_port(snapshot, (*index, interface)))),
            None if interface.owner.is_some() || interface.is_incomplete(own_socket_ids) => {
                unbridged_ports.insert(name, observe_port(snapshot, (*index, interface)));
            }
            None => {}
        }
    }
    Observed {
        bridges: bridges.into_iter().map(|(id, bridge)| (id.to_string(), bridge)).collect(),
        unbridged_ports,
        taken_devices: snapshot.taken_devices(),
        addresses: addresses::addresses(snapshot),
        routing: routing::observe(&snapshot.routing, |id| snapshot.domains.get(&id).is_some_and(is_bridge)),
        unusable_port_types: BTreeMap::new(),
        unguardable: None,
        unenforced: BTreeMap::new(),
        dpdk: DpdkSupport::default(),
        // The API offers it for Open vSwitch alone.
        without_af_xdp: None,
        finishing_bridges: BTreeSet::new(),
    }
}

/// What was observed before, with these bridge domains as they are in a snapshot that has no
/// interfaces; `None` if one of them has any.
pub(super) fn update_bridges(mut before: Observed, ids: &BTreeSet<u32>, snapshot: &VppSnapshot) -> Option<Observed> {
    for id in ids {
        let name = id.to_string();
        match snapshot.domains.get(id) {
            Some(domain) if domain.members.is_empty() => drop(before.bridges.insert(name, observe_domain(domain))),
            Some(_) => return None,
            None => drop(before.bridges.remove(&name)),
        }
    }
    Some(before)
}

/// A bridge domain without its ports.
pub(super) fn observe_domain(domain: &BridgeDomain) -> ObservedBridge {
    ObservedBridge {
        owner: domain.owner.clone().map(BridgeOwner::Network),
        has_supported_datapath: domain.has_supported_datapath,
        adoption_blocker: adoption_blocker(domain),
        settings: domain.settings.clone(),
        state: ElementState::Running,
        ports: BTreeMap::new(),
    }
}

/// An untagged bridge domain cannot be distinguished from an implicit one, if usnet owns all of its
/// ports.
fn adoption_blocker(domain: &BridgeDomain) -> Option<String> {
    match domain {
        BridgeDomain { is_tagged: false, .. } => {
            Some("it has no tag (bd-tag), which tells it from a bridge domain that VPP created implicitly".to_owned())
        }
        BridgeDomain { forwards: false, .. } => Some("it does not forward".to_owned()),
        BridgeDomain { .. } => None,
    }
}

pub(super) fn observe_port(snapshot: &VppSnapshot, (index, interface): (u32, &Interface)) -> ObservedPort {
    let network = interface.domain.and_then(|id| snapshot.domains.get(&id)).and_then(|domain| domain.owner.clone());
    ObservedPort {
        owner: interface.owner.as_ref().map(|owner| match owner {
            Owner::Network(device) => PortOwner::of_device(device),
            Owner::Nic(nic) => PortOwner::of_nic(nic),
            Owner::Patch(patch) => PortOwner::of_patch(patch),
            Owner::Tunnel(tunnel) => PortOwner::of_tunnel(tunnel),
            Owner::Attachment(_) => PortOwner { network, owner: owner.clone() },
        }),
        backend: backend(snapshot, index, interface),
        settings: port_settings::observe(snapshot, interface),
        peer: if interface.has_peer { Peer::Connected } else { Peer::Absent },
        state: ElementState::Running,
        members: Vec::new(),
    }
}

/// What a port is. A tunnel that is as usnet creates it is in the group of tunnels of its bridge
/// domain.
fn backend(snapshot: &VppSnapshot, index: u32, interface: &Interface) -> Option<PortBackend> {
    let Some(tunnel) = &interface.tunnel else { return interface.backend() };
    let domain = snapshot.domains.get(&interface.domain?)?;
    let is_in_group = domain.members.get(&index) == Some(&SPLIT_HORIZON_GROUP);
    (is_in_group && tunnel.is_between(&tunnel.ends)).then(|| PortBackend::Vxlan { ends: tunnel.ends.clone() })
}

/// Port names by interface index. A port that usnet owns has the name derived from its owner, and a
/// NIC that of its device; other interfaces, and a second one with the same tag, have VPP's name.
pub(super) fn names(snapshot: &VppSnapshot) -> BTreeMap<u32, PortName> {
    let mut given = BTreeSet::new();
    let mut names = BTreeMap::new();
    for (index, interface) in &snapshot.interfaces {
        let owner = interface.owner.as_ref().filter(|owner| given.insert(*owner));
        let name = match (owner, interface.device()) {
            (Some(Owner::Nic(_)), Some(device)) => PortName::from(&device),
            (Some(owner), _) => PortName::of_owner(owner),
            (None, _) => PortName::observed(&interface.name),
        };
        names.insert(*index, name);
    }
    names
}
