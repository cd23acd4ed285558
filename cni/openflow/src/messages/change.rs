//! Changes that a bundle may have.

use super::{FLOW_MOD, FlowMod, GROUP_MOD, GroupMod};
use crate::flow::GroupId;
use std::collections::BTreeSet;

/// A change of a bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly all changes are flows")]
pub enum Change {
    Flow(FlowMod),
    Group(GroupMod),
}

impl Change {
    /// The type and the content of the message.
    pub(crate) fn encode(&self) -> (u8, Vec<u8>) {
        match self {
            Self::Flow(flow) => (FLOW_MOD, flow.encode()),
            Self::Group(group) => (GROUP_MOD, group.encode()),
        }
    }
}

/// The first group to which a flow sends and that no earlier change sets.
pub(crate) fn unset_group(changes: &[Change]) -> Option<GroupId> {
    let mut present = BTreeSet::new();
    for change in changes {
        let unset = match change {
            Change::Group(GroupMod::Set(group)) => {
                present.insert(group.id);
                continue;
            }
            Change::Group(GroupMod::Delete(id)) => {
                present.remove(id);
                continue;
            }
            Change::Flow(flow) => flow.groups().find(|id| !present.contains(id)),
        };
        if unset.is_some() {
            return unset;
        }
    }
    None
}
