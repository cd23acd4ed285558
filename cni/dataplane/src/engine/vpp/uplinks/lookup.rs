//! The interface on the NIC of an uplink, and its sub-interfaces, in a snapshot. Pure.

use super::sub_interface::Frames;
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::snapshot::{Interface, VppSnapshot};
use crate::model::owner::Owner;
use usnet_crds::UplinkName;

/// Commands, and whether the operation is planned again on a new snapshot once they were sent.
pub(in crate::engine::vpp) type Commands = (Vec<VppCommand>, bool);

/// The interface on the NIC of an uplink.
pub(super) fn nic_of<'a>(snapshot: &'a VppSnapshot, uplink: &UplinkName) -> Result<(u32, &'a Interface), OpError> {
    let is_its = |owner: &Owner| matches!(owner, Owner::Nic(nic) if nic.uplink == *uplink);
    let mut nics = snapshot.interfaces.iter().filter(|(_, found)| found.owner.as_ref().is_some_and(is_its));
    let nic = nics.next().map(|(index, found)| (*index, found));
    nic.ok_or_else(|| OpError::Refused {
        what: format!("uplink {uplink}"),
        reason: format!("VPP has no NIC of uplink {uplink}"),
    })
}

/// The sub-interfaces of an interface, with their indexes.
pub(super) fn subs_of(snapshot: &VppSnapshot, nic: u32) -> impl Iterator<Item = (u32, &Interface)> {
    let is_of_it = move |interface: &Interface| interface.sub.as_ref().is_some_and(|sub| sub.parent == nic);
    snapshot.interfaces.iter().filter(move |(_, found)| is_of_it(found)).map(|(index, found)| (*index, found))
}

/// The frames that a sub-interface takes; none if it is no sub-interface, or takes others.
pub(super) fn frames_of(interface: &Interface) -> Option<Frames> {
    interface.sub.as_ref()?.frames
}

/// Whether its creation by usnet was interrupted before it was tagged.
pub(super) fn may_be_connection(sub: &Interface) -> bool {
    !sub.is_tagged && sub.domain.is_none() && !sub.is_enabled && frames_of(sub).is_some()
}
