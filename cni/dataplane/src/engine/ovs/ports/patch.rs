//! Patch ports: a pair connects two bridges. They are no ports of the datapath.

use crate::model::port::PortName;
use usnet_ovsdb::{Interface, Row, Value};

const INTERFACE_TYPE: &str = "patch";
/// The option with the name of the other one.
const PEER_KEY: &str = "peer";

/// The other one; `None` for an interface of another type.
pub(in crate::engine::ovs) fn peer(interface: &Interface) -> Option<PortName> {
    let peer = interface.options.get(PEER_KEY).filter(|_| interface.interface_type == INTERFACE_TYPE)?;
    Some(PortName::observed(peer))
}

/// The columns of an interface to create.
pub(in crate::engine::ovs) fn row(peer: &PortName) -> Row {
    Row::new().with("type", INTERFACE_TYPE).with("options", Value::map([(PEER_KEY, peer.as_str())]))
}
