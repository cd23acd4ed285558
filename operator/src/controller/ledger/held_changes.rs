//! Which networks changed in what nodes hold.

use super::super::by_name::ByName;
use super::super::changes::Changes;
use super::super::inputs::{Inputs, NodeState};
use std::collections::BTreeMap;
use usnet_crds::NodeNetwork;

/// Which networks changed in what nodes hold: found once for each pass, because the lists are long.
pub(super) struct HeldChanges<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> HeldChanges<'a> {
    pub(super) fn of(inputs: &'a Inputs, changes: &'a Changes, none: &'a ByName<NodeNetwork>) -> Self {
        let held = |state: Option<&'a NodeState>| state.and_then(|state| state.networks.as_ref()).unwrap_or(none);
        let differing = |(node, before): (&'a String, &'a Option<NodeState>)| {
            (node.as_str(), held(before.as_ref()).differing(held(inputs.states.get(node))))
        };
        Self(changes.states.iter().map(differing).collect())
    }

    /// Their names.
    pub(super) fn on(&self, node: &str) -> &[&'a str] {
        self.0.get(node).map(Vec::as_slice).unwrap_or_default()
    }
}
