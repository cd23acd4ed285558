//! Patch ports: a pair connects two bridges. They are no ports of the datapath.

use crate::model::port::{PortBackend, PortName};
use usnet_ovsdb::{Interface, Row, Value};

pub(super) const INTERFACE_TYPE: &str = "patch";
/// The option with the name of the other port.
const PEER_KEY: &str = "peer";

pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    Some(PortBackend::Patch { peer: PortName::observed(peer(interface)?) })
}

/// The name of the port at the other end.
pub(super) fn peer(interface: &Interface) -> Option<&str> {
    interface.options.get(PEER_KEY).map(String::as_str)
}

/// The columns of an interface to create.
pub(super) fn row(peer: &PortName) -> Row {
    Row::new().with("type", INTERFACE_TYPE).with("options", Value::map([(PEER_KEY, peer.as_str())]))
}
