//! Values that the tests of several modules need.

use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::bridge::BridgeOwner;
use usnet_dataplane::observed::{ElementState, ObservedBridge, ObservedPort};
use usnet_dataplane::port::DesiredPort;
pub(crate) use usnet_dataplane::testing::{network, network_with, node_paths, record};

pub(crate) fn name(name: &str) -> NetworkName {
    name.parse().unwrap()
}

/// The bridge of a network as it is observed in a healthy engine, without ports.
pub(crate) fn bridge_of(network: &NodeNetwork) -> (String, ObservedBridge) {
    let bridge = ObservedBridge {
        owner: Some(BridgeOwner::Network(network.name.clone())),
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
    (&DesiredPort::of_attachment(record)).into()
}
