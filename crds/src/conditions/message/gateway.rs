//! Messages about gateways on a node, which the agent writes.

use crate::types::names::BridgeName;

/// A network with a gateway, whose bridge has one of others.
pub fn gateway_exists(bridge: &BridgeName, interface: &str) -> String {
    format!(
        "bridge {bridge} has interface {interface} as its gateway (BVI), which is not owned by usnet; it is not changed: remove it, or remove spec.gateway"
    )
}
