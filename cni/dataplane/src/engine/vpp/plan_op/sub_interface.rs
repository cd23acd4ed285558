//! Plans what connects a network to the NIC of an uplink. Pure.

use super::decision::{Commands, nic_of};
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::port_setting_command::PortSettingCommand;
use crate::engine::vpp::ports::{Frames, SubInterfaceCommand};
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::owner::Owner;
use crate::model::port::{DesiredPort, PortName};

/// What connects a network: its sub-interface is created, configured, and joins the bridge domain
/// last. It is done when nothing of that is left.
pub(super) fn connect(snapshot: &VppSnapshot, port: &DesiredPort, domain: u32) -> Result<Commands, OpError> {
    let (name, owner) = (&port.name, &port.owner.owner);
    let unfit = || OpError::Refused { what: format!("port {name}"), reason: "it names no uplink or VLAN".to_owned() };
    let (nic, on_nic) = nic_of(snapshot, port.uplink.as_ref().ok_or_else(unfit)?)?;
    let frames = port.settings.tagging.as_ref().and_then(Frames::of_tagging).ok_or_else(unfit)?;
    let mut found = snapshot.subs_of(nic).filter(|(_, found)| found.frames() == Some(frames));
    let Some((index, found)) = found.next() else {
        return Ok((vec![SubInterfaceCommand::Create { parent: nic, frames }.into()], true));
    };
    let is_owned = found.owner.as_ref() == Some(owner);
    if !is_owned && !found.may_be_connection() {
        return Err(match &found.owner {
            Some(other) => OpError::PortDiffers { port: name.clone(), found: format!("it is of {other}") },
            None => OpError::Foreign { what: format!("interface {}", found.name) },
        });
    }
    let is_tagged = is_owned && Some(&snapshot.tagging_of(found)) == port.settings.tagging.as_ref();
    let (on, is_up) = match frames {
        Frames::OfVlan(_) => (index, found.is_enabled),
        Frames::OtherVlans => (nic, on_nic.is_enabled),
    };
    let mut commands = Vec::new();
    if !is_owned {
        commands.push(VppCommand::SetTag { index, tag: tags::owner_tag(owner)? });
    }
    if !is_tagged {
        // An interface may have inherited a filter, too.
        commands.push(PortSettingCommand::EfpFilter { index: on, is_on: frames == Frames::OtherVlans }.into());
        commands.push(match frames {
            Frames::OfVlan(_) => SubInterfaceCommand::PopTag { index }.into(),
            // An interface may have inherited a rewrite.
            Frames::OtherVlans => PortSettingCommand::Vlan { index: on, vlan: None }.into(),
        });
    }
    if !is_up {
        commands.push(VppCommand::SetAdminUp { index: on });
    }
    if !is_owned || snapshot.domain_of(index, found) != Some(domain) {
        commands.push(VppCommand::AddToBridgeDomain { index: on, id: domain });
    }
    let is_unfinished = !commands.is_empty();
    Ok((commands, is_unfinished))
}

/// Deletes what connects a network to an uplink. A second sub-interface of the same network has
/// VPP's own name.
pub(super) fn remove(snapshot: &VppSnapshot, port: &PortName, owner: &Owner) -> Vec<VppCommand> {
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
