//! The port of a network's own device: a host interface (af_packet) in its bridge domain.
//!
//! Its MAC address has the index of the device, so that a device that was deleted and recreated is
//! told apart. Split-horizon group 0: it is the only port to other nodes.

use super::bridges;
use super::claims::Claims;
use super::decision::{Context, Decision, NewPort, Origin, commands};
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::ports::NewInterface;
use crate::engine::vpp::snapshot::Interface;
use crate::engine::vpp::tags;
use crate::model::owner::{NetworkDevice, Owner};
use crate::model::port::DesiredPort;

/// A port of this device that differs is removed by an operation of its own.
pub(super) fn join<'a>(
    Context { snapshot, limits, .. }: Context<'_>,
    claims: &mut Claims<'a>,
    port: &'a DesiredPort,
    device: &'a NetworkDevice,
) -> Result<Decision<'a>, OpError> {
    let owner = &port.owner.owner;
    let tag = tags::owner_tag(owner)?;
    let domain = bridges::of_port(snapshot, port)?;
    claims.name(&port.name, owner)?;
    let mac = tags::device_mac(device.index);
    match snapshot.serving(port.name.as_str()) {
        Some((_, interface)) if is_in_place(interface, owner, domain) => Ok(Decision::NoOp),
        Some((index, interface)) if !interface.is_tagged && interface.domain.is_none() => {
            Ok(commands(delete(index, interface)))
        }
        Some((_, interface)) => Err(match &interface.owner {
            Some(found) => OpError::PortDiffers { port: port.name.clone(), found: format!("it is of {found}") },
            None => OpError::Foreign { what: format!("interface {}", interface.name) },
        }),
        None => Ok(Decision::Create(NewPort {
            port,
            domain,
            tag,
            routed: None,
            origin: Origin::New(NewInterface::on_device(port.name.as_str(), mac)?),
            policers: snapshot.policers.only(&port.name),
            policed: limits.unbridged(false),
        })),
    }
}

fn is_in_place(interface: &Interface, owner: &Owner, domain: u32) -> bool {
    interface.owner.as_ref() == Some(owner) && interface.domain == Some(domain) && interface.is_enabled
}

/// An interrupted creation left it on this device, which usnet owns. The next plan creates it.
fn delete(index: u32, interface: &Interface) -> Vec<VppCommand> {
    interface.port.iter().flat_map(|port| port.delete(index)).map(VppCommand::Port).collect()
}
