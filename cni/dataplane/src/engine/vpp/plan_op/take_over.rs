//! Tags for what the legacy userspace CNI created. Nothing else of it changes.
//!
//! VPP tags no bridge domain that exists, and interfaces that move to another one lose packets.
//! Therefore a loopback interface with the network's tag joins it, which is down and carries
//! nothing. Interfaces get their tags afterwards: a bridge domain without a tag, all interfaces of
//! which have one, is taken for one that VPP created implicitly.

use super::decision::{Decision, commands};
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::routing::RoutingCommand;
use crate::engine::vpp::snapshot::{BridgeDomain, Interface, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::bridge::DesiredBridge;
use crate::model::port::DesiredPort;

/// An untagged interface that has the desired socket and is in the desired bridge domain.
pub(super) fn port<'a>(snapshot: &VppSnapshot, port: &'a DesiredPort) -> Result<Decision<'a>, OpError> {
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
        return Err(OpError::Foreign { what: format!("interface {}", interface.name) });
    }
    Ok(commands(vec![VppCommand::SetTag { index, tag }]))
}

/// A bridge domain without a tag. Which interfaces it has is what the planner decided on.
pub(super) fn bridge<'a>(snapshot: &VppSnapshot, bridge: &'a DesiredBridge) -> Result<Decision<'a>, OpError> {
    let foreign = || OpError::Foreign { what: format!("bridge domain {}", bridge.name()) };
    let network = bridge.network().ok_or_else(foreign)?;
    let id = bridge.name().as_str().parse().map_err(|_| foreign())?;
    match snapshot.domains.get(&id) {
        None => Err(OpError::BridgeMissing { bridge: bridge.name().to_string() }),
        Some(domain) if domain.owner.as_ref() == Some(network) => Ok(Decision::NoOp),
        Some(BridgeDomain { is_tagged: true, .. }) => Err(foreign()),
        Some(_) => {
            let mac = tags::marker_mac(id);
            let is_marker = |(_, interface): &(&u32, &Interface)| {
                interface.mac == mac && interface.port.is_none() && interface.domain.is_none_or(|domain| domain == id)
            };
            match snapshot.interfaces.iter().find(is_marker) {
                Some((index, _)) => {
                    let (index, tag) = (*index, tags::marker_tag(network)?);
                    Ok(commands(vec![VppCommand::SetTag { index, tag }, VppCommand::AddToBridgeDomain { index, id }]))
                }
                None => {
                    let reason = "VPP created no loopback interface to mark it".to_owned();
                    let create = VppCommand::Routing(RoutingCommand::CreateLoopback { mac });
                    let refused = OpError::Refused { what: format!("bridge domain {id}"), reason };
                    Ok(Decision::Continue(vec![create], refused))
                }
            }
        }
    }
}
