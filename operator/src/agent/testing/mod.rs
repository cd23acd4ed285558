//! Values that the tests of several modules need.

pub(crate) mod api_server;

use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::observed::{ElementState, ObservedBridge, ObservedPort, Peer};
use usnet_dataplane::owner::PortOwner;
pub(crate) use usnet_dataplane::testing::{network, network_with, node_paths, record};

pub(crate) fn name(name: &str) -> NetworkName {
    name.parse().unwrap()
}

/// The bridge of a network as it is observed in a healthy engine, without ports.
pub(crate) fn bridge_of(network: &NodeNetwork) -> (String, ObservedBridge) {
    let bridge = ObservedBridge {
        owner: Some(network.name.clone()),
        uplink: None,
        has_supported_datapath: true,
        adoption_blocker: None,
        settings: (&network.bridge).into(),
        state: ElementState::Running,
        ports: [].into(),
    };
    (network.bridge.name.to_string(), bridge)
}

/// The port of an attachment as it is observed in a healthy engine, without a connected peer.
pub(crate) fn port_of(record: &Record) -> ObservedPort {
    ObservedPort {
        owner: Some(PortOwner::new(&record.network, &record.id)),
        backend: Some(record.port.backend.clone()),
        patch_peer: None,
        tunnel: None,
        mtu: Some(record.port.settings.mtu.into()),
        routed: record.port.settings.routed.clone(),
        tagging: record.port.settings.vlan.clone().into(),
        rate_limit: Some(record.port.settings.rate_limit),
        is_enabled: true,
        peer: Peer::Absent,
        state: ElementState::Running,
    }
}
