//! The VLAN of a port: what users write ([`VlanSpec`]), and its rules in CEL and in Rust. Nodes
//! read [`Vlan`].
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::cel::{at, is_set, one_of, range, rule, with_engine};
use crate::problem::{Problem, Problems};
use crate::types::vlan::VlanMode;
use crate::{EngineKind, Vlan, VlanTag};
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The VLANs of a port.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = tag_missing(),
    validation = tag_of_trunk(),
    validation = trunks_missing(),
    validation = trunks_of_access()
)]
pub struct VlanSpec {
    /// Access: untagged at the pod, in the VLAN `tag` on the bridge. Trunk: the pod sends and
    /// receives tagged frames of the VLANs `trunks`. NativeTagged and NativeUntagged: a trunk on
    /// which what the pod sends untagged is in the VLAN `tag`; the pod receives that VLAN tagged or
    /// untagged.
    pub mode: VlanMode,
    /// The VLAN of untagged frames, 1 to 4094; not with Trunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = tag())]
    pub tag: Option<i64>,
    /// The VLANs of tagged frames, each 1 to 4094; not with Access.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VlanTag::MAXIMUM))]
    #[x_kube(validation = trunks_in_range(), merge_strategy = ListMerge::Set)]
    pub trunks: Vec<i64>,
}

fn tag() -> Rule {
    range("VLAN tag", VlanTag::MINIMUM, VlanTag::MAXIMUM)
}

/// A rule of the list.
fn trunks_in_range() -> Rule {
    let (minimum, maximum) = (VlanTag::MINIMUM, VlanTag::MAXIMUM);
    rule(
        format!("self.all(tag, tag >= {minimum} && tag <= {maximum})"),
        format!("a VLAN tag is out of range: use {minimum} to {maximum}"),
    )
}

fn tag_missing() -> Rule {
    at(".tag", "self.mode == 'Trunk' || has(self.tag)", &Problem::TagMissing)
}

fn tag_of_trunk() -> Rule {
    at(".tag", "self.mode != 'Trunk' || !has(self.tag)", &Problem::TagOfTrunk)
}

fn trunks_missing() -> Rule {
    at(".trunks", "self.mode == 'Access' || (has(self.trunks) && size(self.trunks) > 0)", &Problem::TrunksMissing)
}

fn trunks_of_access() -> Rule {
    at(".trunks", "self.mode != 'Access' || !has(self.trunks) || size(self.trunks) == 0", &Problem::TrunksOfAccess)
}

/// Rules of the spec: engines whose ports do not have every mode.
pub(in crate::network) fn engine_rules() -> impl Iterator<Item = Rule> {
    let limited = EngineKind::ALL.into_iter().filter(|engine| engine.traits().vlan_modes.len() < VlanMode::ALL.len());
    limited.flat_map(|engine| {
        let modes = engine.traits().vlan_modes.iter().map(|mode| mode.as_str());
        let (port, fixed) = (one_of("self.port.vlan.mode", modes.clone()), one_of("a.vlan.mode", modes));
        let port = format!("!{} || {port}", is_set(".port.vlan"));
        let fixed = format!("!has(self.attachments) || self.attachments.all(a, !has(a.vlan) || {fixed})");
        let problem = Problem::VlanMode(engine);
        [
            at(".port.vlan.mode", with_engine(engine, &port), &problem),
            at(".attachments", with_engine(engine, &fixed), &problem),
        ]
    })
}

/// The outer option is none when the spec is wrong.
pub(in crate::network) fn vlan(
    problems: &mut Problems,
    engine: EngineKind,
    field: &str,
    spec: Option<&VlanSpec>,
) -> Option<Option<Vlan>> {
    let Some(spec) = spec else { return Some(None) };
    let cannot = !engine.traits().vlan_modes.contains(&spec.mode);
    problems.add_if(cannot, &format!("{field}.mode"), Problem::VlanMode(engine));
    let (tag_field, trunks_field) = (format!("{field}.tag"), format!("{field}.trunks"));
    let (has_tag, has_trunks) = (spec.tag.is_some(), !spec.trunks.is_empty());
    let tag = spec.tag.and_then(|tag| problems.check(&tag_field, VlanTag::try_from(tag)));
    let trunks = trunks(problems, &trunks_field, &spec.trunks);
    match spec.mode {
        VlanMode::Trunk => problems.add_if(has_tag, &tag_field, Problem::TagOfTrunk),
        _ => problems.add_if(!has_tag, &tag_field, Problem::TagMissing),
    }
    match spec.mode {
        VlanMode::Access => problems.add_if(has_trunks, &trunks_field, Problem::TrunksOfAccess),
        _ => problems.add_if(!has_trunks, &trunks_field, Problem::TrunksMissing),
    }
    Some(Some(match spec.mode {
        VlanMode::Access => Vlan::Access { tag: tag? },
        VlanMode::Trunk => Vlan::Trunk { trunks },
        VlanMode::NativeTagged => Vlan::NativeTagged { tag: tag?, trunks },
        VlanMode::NativeUntagged => Vlan::NativeUntagged { tag: tag?, trunks },
    }))
}

fn trunks(problems: &mut Problems, field: &str, tags: &[i64]) -> BTreeSet<VlanTag> {
    let mut trunks = BTreeSet::new();
    for (index, tag) in tags.iter().enumerate() {
        let field = format!("{field}[{index}]");
        if let Some(tag) = problems.check(&field, VlanTag::try_from(*tag)) {
            problems.add_if(!trunks.insert(tag), &field, Problem::TrunkTwice(tag));
        }
    }
    trunks
}
