//! Plans an operation on a tunnel, given a snapshot of VPP. Pure.

use super::decision::Commands;
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::ports::{SPLIT_HORIZON_GROUP, Tunnel, TunnelCommand, TunnelKey, instances};
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::owner::Owner;
use crate::model::port::{PortName, TunnelEnds};
use std::collections::BTreeSet;
use usnet_crds::names::fnv1a;

/// A tunnel: it is created, tagged, and joins the bridge domain last. It is done when nothing of
/// that is left. `claimed`: numbers in the names of tunnels that earlier operations of the list
/// create.
pub(super) fn connect(
    snapshot: &VppSnapshot,
    claimed: &mut BTreeSet<u32>,
    owner: &Owner,
    ends: &TunnelEnds,
    domain: u32,
) -> Result<Commands, OpError> {
    let (tag, port) = (tags::owner_tag(owner)?, PortName::of_owner(owner));
    let Some((index, found, tunnel)) = snapshot.tunnel(&TunnelKey::of(ends)) else {
        let instance = free_instance(snapshot, claimed, &port)?;
        return Ok((vec![TunnelCommand::Create { ends: ends.clone(), instance }.into()], true));
    };
    let is_owned = found.owner.as_ref() == Some(owner);
    let is_its = (is_owned || is_incomplete(found, tunnel)) && tunnel.is_between(ends);
    if !is_its {
        return Err(match &found.owner {
            Some(other) => OpError::PortDiffers { port, found: format!("it is the tunnel of {other}") },
            None => {
                let TunnelEnds { vni, local, remote, .. } = ends;
                let tunnel = format!("a VXLAN tunnel from {local} to {remote} with VNI {vni}");
                OpError::TunnelExists { tunnel, interface: found.name.clone() }
            }
        });
    }
    let mut commands = Vec::new();
    if !is_owned {
        commands.push(VppCommand::SetTag { index, tag });
    }
    if !found.is_enabled {
        commands.push(VppCommand::SetAdminUp { index });
    }
    if !is_member(snapshot, index, domain) {
        commands.push(TunnelCommand::Join { index, domain }.into());
    }
    let is_unfinished = !commands.is_empty();
    Ok((commands, is_unfinished))
}

/// Deletes the tunnels of an owner that have this name, or that of VPP.
pub(super) fn remove(snapshot: &VppSnapshot, port: &PortName, owner: &Owner) -> Vec<VppCommand> {
    let name = PortName::of_owner(owner);
    let is_it =
        |found: &Interface| found.owner.as_ref() == Some(owner) && (*port == name || found.name == port.as_str());
    let owned = snapshot.owned(&name).filter(|(_, found)| is_it(found));
    let tunnels = owned.filter_map(|(index, found)| Some((index, found.tunnel.clone()?)));
    let remove = |(index, tunnel)| snapshot.spans.stop(index).chain([TunnelCommand::Delete { tunnel }.into()]);
    tunnels.flat_map(remove).collect()
}

/// Whether its creation by usnet was interrupted before it was tagged.
fn is_incomplete(found: &Interface, tunnel: &Tunnel) -> bool {
    !found.is_tagged && found.domain.is_none() && tunnel.has_own_name()
}

/// Whether it is in the bridge domain, and in the group of tunnels there.
fn is_member(snapshot: &VppSnapshot, index: u32, domain: u32) -> bool {
    let domain = snapshot.domains.get(&domain);
    domain.is_some_and(|domain| domain.members.get(&index) == Some(&SPLIT_HORIZON_GROUP))
}

/// A number that no other tunnel has in its name. It follows from what the tunnel connects, so that
/// its counters go on after a restart of VPP.
fn free_instance(snapshot: &VppSnapshot, claimed: &mut BTreeSet<u32>, port: &PortName) -> Result<u32, OpError> {
    let hash = fnv1a(port.as_str().as_bytes());
    let free = instances(hash).find(|instance| !snapshot.has_tunnel_number(*instance) && !claimed.contains(instance));
    let Some(instance) = free else {
        let reason = "all numbers for names of tunnels are in use".to_owned();
        return Err(OpError::Refused { what: format!("tunnel {port}"), reason });
    };
    claimed.insert(instance);
    Ok(instance)
}
