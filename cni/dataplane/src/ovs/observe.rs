//! From rows to what we compare. Pure.

use super::rows::Rows;
use super::settings::{MAC_AGE_KEY, mac_learning, tagging};
use super::{limits, marks};
use crate::observed::{BridgeMtu, ElementState, Observed, ObservedBridge, ObservedPort, Peer};
use crate::port::{Connection, DeviceName, PortName, SocketPath};
use std::collections::BTreeMap;
use std::path::PathBuf;
use usnet_crds::{MacLearning, SocketRole};
use usnet_ovsdb::{Bridge, Interface, Port};

/// The type of interface that connects to the socket of a pod's program.
pub(super) const VHOST_USER_CLIENT: &str = "dpdkvhostuserclient";
/// Its option with the socket's path.
pub(super) const VHOST_SERVER_PATH: &str = "vhost-server-path";
/// The type of interface that is a device of the kernel.
pub(super) const SYSTEM: &str = "system";
/// The datapath in user space.
pub(super) const NETDEV: &str = "netdev";

pub(super) fn observe(rows: &Rows) -> Observed {
    Observed {
        bridges: rows.bridges.iter().map(|(name, bridge)| (name.clone(), observe_bridge(rows, bridge))).collect(),
        // A port leaves the database with the last bridge that it was on.
        loose: BTreeMap::new(),
    }
}

pub(super) fn observe_bridge(rows: &Rows, bridge: &Bridge) -> ObservedBridge {
    let own_interface = rows.interface(&bridge.name);
    let others = rows.ports_of(bridge).filter(|port| port.name != bridge.name);
    let mac_learning = mac_learning(bridge);
    ObservedBridge {
        mark: marks::network(&bridge.external_ids),
        is_our_kind: bridge.datapath_type == NETDEV && mac_learning.is_some(),
        unusable: unusable(bridge),
        mtu: own_interface.and_then(|interface| interface.mtu_request).map_or(BridgeMtu::Unset, BridgeMtu::Set),
        mac_learning: mac_learning.unwrap_or(MacLearning::Enabled),
        mac_age_seconds: bridge.other_config.get(MAC_AGE_KEY).and_then(|seconds| seconds.parse().ok()),
        state: bridge_state(bridge, own_interface),
        ports: others.map(|port| (PortName::observed(&port.name), observe_port(rows, port))).collect(),
    }
}

/// A DPDK port needs a datapath in user space.
fn unusable(bridge: &Bridge) -> Option<String> {
    let found = bridge.datapath_type.as_str();
    (found != NETDEV).then(|| format!("its datapath_type is {found:?} and has to be {NETDEV:?}"))
}

pub(super) fn observe_port(rows: &Rows, port: &Port) -> ObservedPort {
    let interface = rows.interface_of(port);
    ObservedPort {
        mark: marks::port(&port.external_ids),
        connection: interface.and_then(connection),
        mtu: interface.and_then(|interface| interface.mtu_request),
        tagging: tagging(port),
        rate_limit: interface.and_then(|interface| limits::observe(rows, port, interface)),
        is_enabled: true,
        peer: if interface.is_some_and(is_connected) { Peer::Connected } else { Peer::Absent },
        state: interface.map_or(ElementState::Pending, port_state),
    }
}

pub(super) fn connection(interface: &Interface) -> Option<Connection> {
    match interface.interface_type.as_str() {
        VHOST_USER_CLIENT => {
            let path = interface.options.get(VHOST_SERVER_PATH)?;
            let socket = SocketPath::try_from(PathBuf::from(path)).ok()?;
            Some(Connection::VhostUser { socket, engine_role: SocketRole::Client })
        }
        // Both are the default.
        "" | SYSTEM => Some(Connection::Veth { device: DeviceName::observed(&interface.name) }),
        _ => None,
    }
}

/// Whether the pod's program is there, or the device.
fn is_connected(interface: &Interface) -> bool {
    match interface.interface_type.as_str() {
        "" | SYSTEM => interface.status.contains_key("driver_name"),
        _ => interface.status.get("status").is_some_and(|status| status == "connected"),
    }
}

/// A bridge runs when it has a datapath id; one whose name Open vSwitch cannot use never gets one, and no error either.
pub(super) fn bridge_state(bridge: &Bridge, own_interface: Option<&Interface>) -> ElementState {
    match own_interface.map(interface_state) {
        Some(ElementState::Failed(reason)) => ElementState::Failed(reason),
        _ if bridge.datapath_id.is_some() => ElementState::Running,
        _ => ElementState::Pending,
    }
}

/// What Open vSwitch says of an interface. It needs no peer to run.
pub(super) fn interface_state(interface: &Interface) -> ElementState {
    match (&interface.error, interface.ofport) {
        (Some(error), _) => ElementState::Failed(error.clone()),
        (None, Some(number)) if number < 0 => ElementState::Failed("no reason given; see its log".to_owned()),
        (None, Some(_)) => ElementState::Running,
        (None, None) => ElementState::Pending,
    }
}

/// The same for a port that may have a peer: Open vSwitch reports neither as an error nor otherwise that it has no memory for packets.
fn port_state(interface: &Interface) -> ElementState {
    match interface_state(interface) {
        ElementState::Running if is_connected(interface) && interface.mtu == Some(0) => {
            ElementState::Failed("connected, but DPDK has no memory left for its packets".to_owned())
        }
        state => state,
    }
}
