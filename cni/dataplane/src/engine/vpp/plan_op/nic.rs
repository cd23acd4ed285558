//! Plans an operation on the NIC of an uplink. Pure.

use super::address::remove_addresses;
use super::decision::Commands;
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::ports::NewInterface;
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::owner::{Owner, UplinkNic};
use crate::model::port::DesiredPort;

/// The interface on a NIC; it is tagged after its creation. `missing`: why this VPP has none on
/// devices.
pub(super) fn join(snapshot: &VppSnapshot, port: &DesiredPort, missing: Option<&str>) -> Result<Commands, OpError> {
    let owner = &port.owner.owner;
    let (tag, mac) = (tags::owner_tag(owner)?, tags::nic_mac(port.creation.mac.unwrap_or_default()));
    let refused = |reason: &str| OpError::Refused { what: format!("port {}", port.name), reason: reason.to_owned() };
    if let Some(reason) = missing {
        return Err(refused(reason));
    }
    let device = port.backend.device().ok_or_else(|| refused("VPP joins NICs that the kernel drives"))?;
    let name = || port.name.clone();
    match snapshot.serving(device.as_str()) {
        None => {
            let new = NewInterface::on_device(device.as_str(), mac)?;
            Ok((new.create(&tag).into_iter().map(VppCommand::Port).collect(), true))
        }
        Some((index, interface)) if interface.owner.as_ref() == Some(owner) => {
            let set_up = (!interface.is_enabled).then_some(VppCommand::SetAdminUp { index });
            Ok((set_up.into_iter().collect(), false))
        }
        Some((index, interface)) if interface.may_be_nic() && interface.mac == mac => {
            Ok((vec![VppCommand::SetTag { index, tag }, VppCommand::SetAdminUp { index }], true))
        }
        // On another NIC of this name, which is gone.
        Some((index, interface)) if interface.may_be_nic() => {
            let delete = interface.port.iter().flat_map(|port| port.delete(index)).map(VppCommand::Port);
            Ok((delete.collect(), true))
        }
        Some((_, interface)) => Err(match &interface.owner {
            Some(found) => OpError::PortDiffers { port: name(), found: format!("it is of {found}") },
            None => OpError::Foreign { what: format!("interface {}", interface.name) },
        }),
    }
}

/// Deletes the interface on a NIC, and its sub-interfaces with it: none of others.
pub(super) fn remove(snapshot: &VppSnapshot, nic: &UplinkNic) -> Result<Vec<VppCommand>, OpError> {
    let owner = Owner::Nic(nic.clone());
    let mut commands = Vec::new();
    for (index, interface) in snapshot.interfaces.iter().filter(|(_, found)| found.owner.as_ref() == Some(&owner)) {
        let mut subs = snapshot.subs_of(*index);
        let is_foreign = |sub: &Interface| sub.owner.is_none() && sub.underlay_of.is_none() && !sub.may_be_connection();
        if let Some((_, foreign)) = subs.find(|(_, sub)| is_foreign(sub)) {
            let (what, name) = (format!("the NIC of uplink {}", nic.uplink), &foreign.name);
            let reason = format!("{name} is a part of {}, and usnet does not own it: remove it", interface.name);
            return Err(OpError::Refused { what, reason });
        }
        let own = [(*index, interface)].into_iter();
        commands.extend(own.chain(snapshot.subs_of(*index)).flat_map(remove_addresses));
        commands.extend(snapshot.subs_of(*index).flat_map(|(sub, _)| snapshot.spans.stop(sub)));
        commands.extend(snapshot.spans.stop(*index));
        commands.extend(interface.port.iter().flat_map(|port| port.delete(*index)).map(VppCommand::Port));
    }
    Ok(commands)
}
