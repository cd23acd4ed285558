//! The changes of sub-interfaces, and their messages.

use super::sub_interface::Frames;
use crate::engine::vpp::command::{Find, add, add_with};
use usnet_vpp::messages::{DeleteSubif, L2InterfaceVlanTagRewrite, VtrOp};
use usnet_vpp::{Batch, ReturnCode};

/// One change.
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
