//! Tags for interfaces that the legacy userspace CNI created.

use super::decision::{Decision, commands};
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::snapshot::VppSnapshot;
use crate::engine::vpp::tags;
use crate::model::bridge::DesiredBridge;
use crate::model::port::{DesiredPort, PortName};

/// An untagged interface that has the desired socket and is in the desired bridge domain.
pub(super) fn port<'a>(snapshot: &VppSnapshot, port: &DesiredPort) -> Result<Decision<'a>, OpError> {
    let owner = &port.owner.owner;
    let tag = tags::owner_tag(owner)?;
    let domain: Option<u32> = port.bridge_name().and_then(|bridge| bridge.as_str().parse().ok());
    let socket = port.backend.endpoint_name();
    let Some((index, interface)) = snapshot.serving(&socket).filter(|(_, interface)| interface.domain == domain) else {
        return Err(OpError::PortMissing { port: port.name.clone() });
    };
    if interface.owner.as_ref() == Some(owner) {
        return Ok(Decision::NoOp);
    }
    if interface.is_tagged || interface.backend().as_ref() != Some(&port.backend) {
        return Err(OpError::Foreign { what: format!("port {}", PortName::observed(&interface.name)) });
    }
    Ok(commands(vec![VppCommand::SetTag { index, tag }]))
}

/// VPP cannot tag a bridge domain that exists.
pub(super) fn bridge<'a>(_snapshot: &VppSnapshot, bridge: &DesiredBridge) -> Result<Decision<'a>, OpError> {
    Err(OpError::Foreign { what: format!("bridge domain {}", bridge.name()) })
}
