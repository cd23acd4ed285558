//! Sub-interfaces, whether usnet owns them or not.

use usnet_crds::VlanTag;
use usnet_vpp::messages::{CreateSubif, IfType, SubIfFlags, SwInterfaceDetails, VtrOp};

/// The number of the sub-interface for the frames of all other VLANs: no VLAN has it.
const OTHERS_ID: u32 = 4095;

/// A part of another interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::vpp) struct SubInterface {
    /// The index of that interface.
    pub(in crate::engine::vpp) parent: u32,
    /// Its frames; `None` for one that usnet would not create like this.
    pub(in crate::engine::vpp) frames: Option<Frames>,
    /// Whether the tag of its frames is removed on input and added on output.
    pub(in crate::engine::vpp) pops_tag: bool,
}

/// Which frames of its interface it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::vpp) enum Frames {
    /// Those of one VLAN.
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
    /// Those of a network: with its VLAN, or all but untagged ones, which it must not have.
    pub(super) fn of_network(vlan: Option<VlanTag>) -> Self {
        vlan.map_or(Self::OtherVlans, Self::OfVlan)
    }

    /// Creates the sub-interface for them.
    pub(super) fn request(self, parent: u32) -> CreateSubif {
        let (sub_id, sub_if_flags, outer_vlan_id) = match self {
            Self::OfVlan(vlan) => (vlan.get().into(), SubIfFlags::ONE_TAG | SubIfFlags::EXACT_MATCH, vlan.get()),
            Self::OtherVlans => (OTHERS_ID, SubIfFlags::DEFAULT, 0),
        };
        CreateSubif { sw_if_index: parent, sub_id, sub_if_flags, outer_vlan_id, inner_vlan_id: 0 }
    }
}
