//! Rules on the fields of a VLAN by its mode. Each has the message of the matching problem in
//! `validate`.

use super::{range, rule};
use crate::VlanTag;
use crate::validate::Problem;
use kube::core::Rule;

pub(crate) fn tag() -> Rule {
    range("VLAN tag", VlanTag::MINIMUM, VlanTag::MAXIMUM)
}

/// For the list.
pub(crate) fn trunks() -> Rule {
    let (minimum, maximum) = (VlanTag::MINIMUM, VlanTag::MAXIMUM);
    rule(
        format!("self.all(tag, tag >= {minimum} && tag <= {maximum})"),
        format!("a VLAN tag is out of range: use {minimum} to {maximum}"),
    )
}

fn at(field: &str, expression: &str, problem: &Problem) -> Rule {
    rule(expression, problem.to_string()).field_path(field)
}

pub(crate) fn tag_missing() -> Rule {
    at(".tag", "self.mode == 'Trunk' || has(self.tag)", &Problem::TagMissing)
}

pub(crate) fn tag_of_trunk() -> Rule {
    at(".tag", "self.mode != 'Trunk' || !has(self.tag)", &Problem::TagOfTrunk)
}

pub(crate) fn trunks_missing() -> Rule {
    at(".trunks", "self.mode == 'Access' || (has(self.trunks) && size(self.trunks) > 0)", &Problem::TrunksMissing)
}

pub(crate) fn trunks_of_access() -> Rule {
    at(".trunks", "self.mode != 'Access' || !has(self.trunks) || size(self.trunks) == 0", &Problem::TrunksOfAccess)
}
