//! Sub-interfaces of NICs, by which networks are connected to uplinks.
//!
//! The NIC of an uplink is a host interface (af_packet) in no bridge domain. A network in a VLAN
//! has a sub-interface of it in its bridge domain, which removes and adds the tag. The network
//! without a VLAN has the interface of the NIC itself in its bridge domain, because VPP has no
//! sub-interfaces for untagged frames; a second sub-interface, which is down, then takes the frames
//! of all other VLANs, that the interface would have. It has the tag of that network, and stands
//! for its port.
//!
//! The interface of the NIC has the EFP filter in a bridge domain: without it, pods could send
//! frames into other VLANs. A sub-interface must not have it: the filter of VPP 26.06 takes what
//! follows the tag for a second one, looks behind the end of its table, and drops IP packets by
//! what is there. What a pod tags itself gets the tag of the VLAN as well, and so stays in it.

use crate::engine::vpp::request::{Find, add, add_with};
use crate::model::tagging::Tagging;
use usnet_crds::{Vlan, VlanTag};
use usnet_vpp::messages::{
    CreateSubif, DeleteSubif, IfType, L2InterfaceVlanTagRewrite, SubIfFlags, SwInterfaceDetails, VtrOp,
};
use usnet_vpp::{Batch, ReturnCode};

/// The number of the sub-interface for the frames of all other VLANs: no VLAN has it.
const OTHERS_ID: u32 = 4095;

/// A part of another interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct SubInterface {
    /// The index of that interface.
    pub(in crate::engine::vpp) parent: u32,
    /// The frames that it takes; `None` for a sub-interface that usnet would not create like this.
    pub(in crate::engine::vpp) frames: Option<Frames>,
    /// Whether the tag of its frames is removed on input and added on output.
    pub(in crate::engine::vpp) pops_tag: bool,
}

/// Which frames of its interface it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::vpp) enum Frames {
    OfVlan(VlanTag),
    /// Tagged ones that no other sub-interface has.
    OtherVlans,
}

impl SubInterface {
    /// A sub-interface; `None` for an interface of its own.
    pub(in crate::engine::vpp) fn of(details: &SwInterfaceDetails) -> Option<Self> {
        if details.r#type != IfType::Sub {
            return None;
        }
        let vlan = VlanTag::try_from(i64::from(details.sub_outer_vlan_id)).ok();
        let frames = [vlan.map(Frames::OfVlan), Some(Frames::OtherVlans)].into_iter().flatten().find(|frames| {
            let wanted = frames.request(details.sup_sw_if_index);
            (wanted.sub_id, wanted.sub_if_flags, wanted.outer_vlan_id, 0)
                == (details.sub_id, details.sub_if_flags, details.sub_outer_vlan_id, details.sub_inner_vlan_id)
        });
        Some(Self { parent: details.sup_sw_if_index, frames, pops_tag: details.vtr_op == VtrOp::Pop1 })
    }
}

impl Frames {
    /// The frames of the sub-interface of a network: those of its VLAN, or all but untagged ones,
    /// which it must not have. `None` for a tagging that no network on an uplink has.
    pub(in crate::engine::vpp) fn of_tagging(tagging: &Tagging) -> Option<Self> {
        match tagging {
            Tagging::Vlan(Vlan::Access { tag }) => Some(Self::OfVlan(*tag)),
            Tagging::OnlyUntagged => Some(Self::OtherVlans),
            _ => None,
        }
    }

    /// Creates the sub-interface for them.
    fn request(self, parent: u32) -> CreateSubif {
        let (sub_id, sub_if_flags, outer_vlan_id) = match self {
            Self::OfVlan(vlan) => (vlan.get().into(), SubIfFlags::ONE_TAG | SubIfFlags::EXACT_MATCH, vlan.get()),
            Self::OtherVlans => (OTHERS_ID, SubIfFlags::DEFAULT, 0),
        };
        CreateSubif { sw_if_index: parent, sub_id, sub_if_flags, outer_vlan_id, inner_vlan_id: 0 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) enum SubInterfaceCommand {
    Create {
        parent: u32,
        frames: Frames,
    },
    Delete {
        index: u32,
    },
    /// Frames lose their tag on input and get it on output.
    PopTag {
        index: u32,
    },
}

impl SubInterfaceCommand {
    /// Whether it does no harm that VPP rejects it with this code: what it deletes is gone.
    pub(in crate::engine::vpp) fn is_harmless(&self, code: ReturnCode) -> bool {
        let is_gone = matches!(code, ReturnCode::InvalidSwIfIndex | ReturnCode::InvalidSubSwIfIndex);
        matches!(self, Self::Delete { .. }) && is_gone
    }

    /// Whether another client changed VPP in between.
    pub(in crate::engine::vpp) fn is_conflict(&self, code: ReturnCode) -> bool {
        let is_there = matches!(self, Self::Create { .. }) && code == ReturnCode::VlanAlreadyExists;
        is_there || code == ReturnCode::InvalidSwIfIndex
    }

    /// Adds its request to a batch.
    pub(in crate::engine::vpp) fn add_to(&self, batch: &mut Batch) -> Find {
        match self {
            Self::Create { parent, frames } => add_with(batch, frames.request(*parent), |reply| reply.sw_if_index),
            Self::Delete { index } => add(batch, DeleteSubif { sw_if_index: *index }),
            Self::PopTag { index } => {
                let (vtr_op, push_dot1q) = (VtrOp::Pop1, 1);
                add(batch, L2InterfaceVlanTagRewrite { sw_if_index: *index, vtr_op, push_dot1q, tag1: 0, tag2: 0 })
            }
        }
    }
}
