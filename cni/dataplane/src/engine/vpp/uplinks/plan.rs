//! Plans an operation on the NIC of an uplink, or on what connects a network to it. Pure.

use super::command::SubInterfaceCommand;
use super::lookup::{Commands, frames_of, may_be_connection, nic_of, subs_of};
use super::observe::{domain_of, tagging_of};
use super::sub_interface::Frames;
use super::underlay::remove_addresses;
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::ports::NewInterface;
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::owner::{Owner, UplinkNic};
use crate::model::port::PortName;
use crate::model::uplink::{KernelNic, PatchPair};
use usnet_crds::UplinkName;

/// The interface on a NIC; it is tagged after its creation. `missing`: why this VPP has none on
/// devices.
pub(in crate::engine::vpp) fn join_nic(
    snapshot: &VppSnapshot,
    (uplink, nic): (&UplinkName, &KernelNic),
    missing: Option<&str>,
) -> Result<Commands, OpError> {
    let owner = Owner::Nic(UplinkNic { uplink: uplink.clone(), index: nic.index });
    let (tag, mac) = (tags::owner_tag(&owner)?, tags::nic_mac(nic.mac));
    if let Some(reason) = missing {
        return Err(OpError::Refused { what: format!("port {}", nic.device), reason: reason.to_owned() });
    }
    let name = || PortName::from(&nic.device);
    match snapshot.serving(nic.device.as_str()) {
        None => {
            let new = NewInterface::on_device(nic.device.as_str(), mac)?;
            Ok((new.create(&tag).into_iter().map(VppCommand::Port).collect(), true))
        }
        Some((index, interface)) if interface.owner.as_ref() == Some(&owner) => {
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
pub(in crate::engine::vpp) fn remove_nic(snapshot: &VppSnapshot, nic: &UplinkNic) -> Result<Vec<VppCommand>, OpError> {
    let owner = Owner::Nic(nic.clone());
    let mut commands = Vec::new();
    for (index, interface) in snapshot.interfaces.iter().filter(|(_, found)| found.owner.as_ref() == Some(&owner)) {
        let mut subs = subs_of(snapshot, *index);
        let is_foreign = |sub: &Interface| sub.owner.is_none() && sub.underlay_of.is_none() && !may_be_connection(sub);
        if let Some((_, foreign)) = subs.find(|(_, sub)| is_foreign(sub)) {
            let (what, name) = (format!("the NIC of uplink {}", nic.uplink), &foreign.name);
            let reason = format!("{name} is a part of {}, and usnet does not own it: remove it", interface.name);
            return Err(OpError::Refused { what, reason });
        }
        let own = [(*index, interface)].into_iter();
        commands.extend(own.chain(subs_of(snapshot, *index)).flat_map(remove_addresses));
        commands.extend(subs_of(snapshot, *index).flat_map(|(sub, _)| snapshot.spans.stop(sub)));
        commands.extend(snapshot.spans.stop(*index));
        commands.extend(interface.port.iter().flat_map(|port| port.delete(*index)).map(VppCommand::Port));
    }
    Ok(commands)
}

/// What connects a network: its sub-interface is created, configured, and joins the bridge domain
/// last. It is done when nothing of that is left.
pub(in crate::engine::vpp) fn connect(
    snapshot: &VppSnapshot,
    pair: &PatchPair,
    domain: u32,
) -> Result<Commands, OpError> {
    let uplink = &pair.uplink;
    let (nic, on_nic) = nic_of(snapshot, uplink)?;
    let (owner, frames) = (pair.owner().owner, Frames::of_network(pair.vlan));
    let mut found = subs_of(snapshot, nic).filter(|(_, found)| frames_of(found) == Some(frames));
    let Some((index, found)) = found.next() else {
        return Ok((vec![SubInterfaceCommand::Create { parent: nic, frames }.into()], true));
    };
    let is_owned = found.owner.as_ref() == Some(&owner);
    if !is_owned && !may_be_connection(found) {
        return Err(match &found.owner {
            Some(other) => OpError::PortDiffers { port: pair.network_end.clone(), found: format!("it is of {other}") },
            None => OpError::Foreign { what: format!("interface {}", found.name) },
        });
    }
    let is_tagged = is_owned && tagging_of(snapshot, found) == pair.tagging();
    let (port, is_up) = match frames {
        Frames::OfVlan(_) => (index, found.is_enabled),
        Frames::OtherVlans => (nic, on_nic.is_enabled),
    };
    let mut commands = Vec::new();
    if !is_owned {
        commands.push(VppCommand::SetTag { index, tag: tags::owner_tag(&owner)? });
    }
    if !is_tagged {
        // An interface may have inherited a filter, too.
        commands.push(VppCommand::SetEfpFilter { index: port, is_on: frames == Frames::OtherVlans });
        commands.push(match frames {
            Frames::OfVlan(_) => SubInterfaceCommand::PopTag { index }.into(),
            // An interface may have inherited a rewrite.
            Frames::OtherVlans => VppCommand::SetVlan { index: port, vlan: None },
        });
    }
    if !is_up {
        commands.push(VppCommand::SetAdminUp { index: port });
    }
    if !is_owned || domain_of(snapshot, index, found) != Some(domain) {
        commands.push(VppCommand::AddToBridgeDomain { index: port, id: domain });
    }
    let is_unfinished = !commands.is_empty();
    Ok((commands, is_unfinished))
}

/// Deletes what connects a network to an uplink. A second sub-interface of the same network has
/// VPP's own name.
pub(in crate::engine::vpp) fn remove_connection(
    snapshot: &VppSnapshot,
    port: &PortName,
    owner: &Owner,
) -> Vec<VppCommand> {
    let is_any = *port == PortName::of_owner(owner);
    let is_it = |found: &Interface| found.owner.as_ref() == Some(owner) && (is_any || found.name == port.as_str());
    let owned = snapshot.interfaces.iter().filter(|(_, found)| is_it(found));
    let commands = owned.flat_map(|(index, interface)| {
        let sub = interface.sub.as_ref().filter(|sub| sub.frames == Some(Frames::OtherVlans));
        let bridged = sub.and_then(|sub| Some((sub.parent, snapshot.interfaces.get(&sub.parent)?.domain?)));
        let leave = bridged.map(|(index, id)| VppCommand::RemoveFromBridgeDomain { index, id });
        let leave = snapshot.spans.stop(*index).chain(leave);
        leave.chain([SubInterfaceCommand::Delete { index: *index }.into()])
    });
    commands.collect()
}
