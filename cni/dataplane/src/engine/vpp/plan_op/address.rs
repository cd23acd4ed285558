//! The address of the node for overlays that VPP encapsulates: on the interface of the NIC, or on a
//! sub-interface of it that has the tag of the uplink. Neither is in a bridge domain then, because
//! VPP receives packets to the address only there. Pure.

use super::decision::{Commands, nic_of};
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::ports::{Frames, SubInterfaceCommand};
use crate::engine::vpp::routing::RoutingCommand;
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::routing::PrefixedAddress;
use crate::model::underlay::UplinkAddress;
use usnet_crds::UplinkName;

/// The address of an uplink, and no other; `None`: no address. It is done when nothing is left to
/// do.
pub(super) fn set_address(
    snapshot: &VppSnapshot,
    uplink: &UplinkName,
    wanted: Option<&UplinkAddress>,
) -> Result<Commands, OpError> {
    let (nic, on_nic) = nic_of(snapshot, uplink)?;
    let holder = match wanted.map(|wanted| wanted.vlan) {
        None => None,
        Some(None) => Some((nic, on_nic)),
        Some(Some(vlan)) => {
            let frames = Frames::OfVlan(vlan);
            match snapshot.subs_of(nic).find(|(_, found)| found.frames() == Some(frames)) {
                Some((_, found)) if !is_available(found, uplink) => return Err(taken(found, uplink)),
                Some(found) => Some(found),
                None => return Ok((vec![SubInterfaceCommand::Create { parent: nic, frames }.into()], true)),
            }
        }
    };
    let mut commands = leftovers(snapshot, (nic, on_nic), holder.map(|(index, _)| index));
    if let Some(((index, found), wanted)) = holder.zip(wanted) {
        if index != nic && found.underlay_of.is_none() {
            commands.push(VppCommand::SetTag { index, tag: tags::underlay_tag(uplink)? });
        }
        commands.extend(configure((index, found), (wanted.address.ip(), wanted.address.prefix())));
    }
    let is_unfinished = !commands.is_empty();
    Ok((commands, is_unfinished))
}

/// Everything of an address that an uplink has elsewhere.
fn leftovers(snapshot: &VppSnapshot, (nic, on_nic): (u32, &Interface), holder: Option<u32>) -> Vec<VppCommand> {
    let mut commands = Vec::new();
    if holder != Some(nic) {
        commands.extend(remove_addresses((nic, on_nic)));
    }
    let subs = snapshot.subs_of(nic).filter(|(index, sub)| sub.underlay_of.is_some() && holder != Some(*index));
    for (index, sub) in subs {
        commands.extend(remove_addresses((index, sub)));
        commands.push(SubInterfaceCommand::Delete { index }.into());
    }
    commands
}

/// An address that is left behind would be the next interface's with this index.
pub(super) fn remove_addresses((index, interface): (u32, &Interface)) -> impl Iterator<Item = VppCommand> {
    let addresses = interface.addresses.iter();
    addresses.map(move |address| RoutingCommand::RemoveAddress { index, address: *address }.into())
}

fn configure((index, found): (u32, &Interface), address: PrefixedAddress) -> Vec<VppCommand> {
    let mut commands = Vec::new();
    if let Some(id) = found.domain {
        commands.push(VppCommand::RemoveFromBridgeDomain { index, id });
    }
    if !found.is_enabled {
        commands.push(VppCommand::SetAdminUp { index });
    }
    let wrong = found.addresses.iter().filter(|other| **other != address);
    commands.extend(wrong.map(|address| RoutingCommand::RemoveAddress { index, address: *address }.into()));
    if !found.addresses.contains(&address) {
        commands.push(RoutingCommand::AddAddress { index, address }.into());
    }
    commands
}

/// Whether a sub-interface has the address of an uplink, or may get it.
fn is_available(sub: &Interface, uplink: &UplinkName) -> bool {
    sub.underlay_of.as_ref() == Some(uplink) || sub.may_be_connection()
}

fn taken(found: &Interface, uplink: &UplinkName) -> OpError {
    let what = format!("the address on uplink {uplink}");
    match &found.owner {
        Some(other) => OpError::Refused { what, reason: format!("interface {} is of {other}", found.name) },
        None => OpError::Foreign { what: format!("interface {}", found.name) },
    }
}
