//! From rows to the observed state. Pure.

use super::bonds;
use super::bridge_settings::{self, NETDEV};
use super::snapshot::OvsSnapshot;
use super::{port_settings, ports, segmentation, tags};
use crate::model::observed::{ElementState, Observed, ObservedBridge, ObservedMember, ObservedPort, Peer};
use crate::model::port::PortName;
use crate::model::routing::ObservedRouting;
use crate::model::tagging::Tagging;
use crate::model::underlay::ObservedAddress;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::UplinkName;
use usnet_ovsdb::{Bridge, Interface, Port};

pub(super) fn observe(snapshot: &OvsSnapshot) -> Observed {
    Observed {
        bridges: snapshot
            .bridges
            .iter()
            .map(|(name, bridge)| (name.clone(), observe_bridge(snapshot, bridge)))
            .collect(),
        // The database deletes a port with the last bridge that refers to it.
        unbridged_ports: BTreeMap::new(),
        taken_devices: BTreeMap::new(),
        addresses: snapshot.bridges.values().filter_map(|bridge| observe_address(snapshot, bridge)).collect(),
        routing: ObservedRouting::default(),
        unusable_port_types: snapshot.unusable_port_types.clone(),
        unguardable: None,
        // Only its flows say so.
        unenforced: BTreeMap::new(),
        dpdk: snapshot.dpdk.clone(),
        without_af_xdp: snapshot.without_af_xdp.clone(),
        finishing_bridges: segmentation::bridges(snapshot),
    }
}

/// The address that the bridge of an uplink is to have, with the uplink.
pub(super) fn observe_address(snapshot: &OvsSnapshot, bridge: &Bridge) -> Option<(UplinkName, ObservedAddress)> {
    let uplink = tags::uplink(&bridge.external_ids)?;
    let address = tags::address(&bridge.external_ids)?;
    let own_interface = snapshot.interface(&bridge.name);
    let tagging =
        snapshot.port(&bridge.name).map_or(Tagging::Other, |port| port_settings::tagging(port, own_interface));
    Some((uplink, ObservedAddress { address, tagging, mac: bridge_settings::mac(bridge) }))
}

pub(super) fn observe_bridge(snapshot: &OvsSnapshot, bridge: &Bridge) -> ObservedBridge {
    let own_interface = snapshot.interface(&bridge.name);
    // The agent removes ports of captures when these end, and nothing else depends on them.
    let is_other = |port: &&Port| port.name != bridge.name && !tags::is_of_capture(&port.external_ids);
    let others = snapshot.ports_of(bridge).filter(is_other);
    ObservedBridge {
        owner: tags::bridge(&bridge.external_ids),
        has_supported_datapath: bridge_settings::has_supported_datapath(bridge),
        adoption_blocker: adoption_blocker(bridge),
        settings: bridge_settings::observe(bridge, own_interface),
        state: bridge_state(bridge, own_interface),
        ports: others.map(|port| (PortName::observed(&port.name), observe_port(snapshot, port))).collect(),
    }
}

/// A DPDK port needs a datapath in user space.
fn adoption_blocker(bridge: &Bridge) -> Option<String> {
    let found = bridge.datapath_type.as_str();
    (found != NETDEV).then(|| format!("its datapath_type is {found:?} and must be {NETDEV:?}"))
}

pub(super) fn observe_port(snapshot: &OvsSnapshot, port: &Port) -> ObservedPort {
    if bonds::is_bond(port) {
        return observe_bond(snapshot, port);
    }
    let interface = snapshot.interface_of(port);
    ObservedPort {
        owner: tags::port(&port.external_ids),
        backend: interface.and_then(|interface| ports::backend(port, interface)),
        settings: port_settings::observe(snapshot, port, interface),
        peer: if interface.is_some_and(is_connected) { Peer::Connected } else { Peer::Absent },
        state: interface.map_or(ElementState::Pending, port_state),
        members: Vec::new(),
    }
}

/// A bond runs, and has a peer, as long as one of its NICs does.
fn observe_bond(snapshot: &OvsSnapshot, port: &Port) -> ObservedPort {
    let interfaces: Vec<_> = snapshot.interfaces_of(port).collect();
    let members: Vec<_> = interfaces.iter().map(|interface| observe_member(port, interface)).collect();
    let running = members.iter().find(|member| member.state == ElementState::Running);
    let state = running.or_else(|| members.first()).map_or(ElementState::Pending, |member| member.state.clone());
    let has_link = members.iter().any(|member| member.has_link);
    ObservedPort {
        owner: tags::port(&port.external_ids),
        backend: bonds::backend(port, &interfaces),
        settings: port_settings::observe_bond(snapshot, port, &interfaces),
        peer: if has_link { Peer::Connected } else { Peer::Absent },
        state,
        members,
    }
}

fn observe_member(port: &Port, interface: &Interface) -> ObservedMember {
    ObservedMember {
        endpoint: ports::backend(port, interface).map_or_else(|| interface.name.clone(), |it| it.endpoint_name()),
        state: port_state(interface),
        has_link: interface.link_state.as_deref() == Some("up"),
        has_partner: bonds::has_lacp(port).then_some(interface.lacp_current == Some(true)),
        is_active: interface.mac_in_use.is_some() && interface.mac_in_use == port.bond_active_slave,
    }
}

/// A bridge runs if it has a datapath id; one whose name Open vSwitch cannot use never gets one,
/// and no error either.
pub(super) fn bridge_state(bridge: &Bridge, own_interface: Option<&Interface>) -> ElementState {
    match own_interface.map(interface_state) {
        Some(failed @ ElementState::Failed(_)) => failed,
        _ if bridge.datapath_id.is_some() => ElementState::Running,
        _ => ElementState::Pending,
    }
}

/// The state that Open vSwitch reports for an interface. It does not need a peer to run.
pub(super) fn interface_state(interface: &Interface) -> ElementState {
    match (&interface.error, interface.ofport) {
        (Some(error), _) => ElementState::Failed(error.clone()),
        (None, Some(number)) if number < 0 => ElementState::Failed("no reason reported; see its log".to_owned()),
        (None, Some(_)) => ElementState::Running,
        (None, None) => ElementState::Pending,
    }
}

/// The state of a port that may have a peer. Open vSwitch says only in its log that DPDK has no
/// memory for the packets of a port: it removes the port from its datapath, and the row of its
/// interface keeps the number, no error, and the MTU 0 that it had before the program connected.
/// A port that works has that MTU for an instant, and after a restart until the switch writes its
/// rows again, so that it is only reported after some time.
fn port_state(interface: &Interface) -> ElementState {
    match interface_state(interface) {
        ElementState::Failed(error) => ElementState::Failed(ports::explained(interface, error)),
        ElementState::Running if ports::is_dpdk(interface) => {
            ports::refusal(interface).map_or(ElementState::Running, ElementState::Failed)
        }
        ElementState::Running if is_connected(interface) && interface.mtu == Some(0) => ElementState::NoMemory,
        state => state,
    }
}

/// The vhost-user ports of usnet that run without an MTU, by their bridges: no program has
/// connected to them since the switch created them, or DPDK has no memory for their packets. With
/// each change of its configuration the switch creates a port of the second kind again, which ends
/// the connection of its program, and fails once more when that is back: the row then stays that of
/// a port without a program. Only its datapath tells them apart.
pub(super) fn without_mtu(snapshot: &OvsSnapshot) -> BTreeMap<String, BTreeSet<String>> {
    let is_it = |port: &&Port| {
        let interface = snapshot.interface_of(port);
        tags::port(&port.external_ids).is_some()
            && interface.is_some_and(|it| {
                ports::is_vhost_user(it) && it.mtu == Some(0) && interface_state(it) == ElementState::Running
            })
    };
    let of_bridge = |bridge: &Bridge| {
        let names: BTreeSet<String> = snapshot.ports_of(bridge).filter(is_it).map(|port| port.name.clone()).collect();
        (bridge.name.clone(), names)
    };
    let running = snapshot.bridges.values().filter(|bridge| bridge.datapath_id.is_some());
    running.map(of_bridge).filter(|(_, names)| !names.is_empty()).collect()
}

fn is_connected(interface: &Interface) -> bool {
    ports::has_peer(interface)
}

#[cfg(test)]
mod tests;
