//! The VLAN settings of a network.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::{VlanTag, rules};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In which VLANs a port is.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = rules::vlan::tag_missing(),
    validation = rules::vlan::tag_of_trunk(),
    validation = rules::vlan::trunks_missing(),
    validation = rules::vlan::trunks_of_access()
)]
pub struct VlanSpec {
    /// Access: untagged at the pod, in the VLAN `tag` on the bridge. Trunk: the pod sends and receives tagged frames of the VLANs `trunks`.
    /// NativeTagged and NativeUntagged: a trunk on which what the pod sends untagged is in the VLAN `tag`; the pod receives that VLAN tagged or
    /// untagged.
    pub mode: VlanMode,
    /// The VLAN of untagged frames, 1 to 4094; not with Trunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rules::vlan::tag())]
    pub tag: Option<i64>,
    /// The VLANs of tagged frames, each 1 to 4094; not with Access.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = VlanTag::MAXIMUM))]
    #[x_kube(validation = rules::vlan::trunks(), merge_strategy = ListMerge::Set)]
    pub trunks: Vec<i64>,
}

/// How the frames of a port are tagged.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanMode {
    /// Untagged at the pod, in one VLAN on the bridge.
    Access,
    /// Tagged at the pod, in several VLANs.
    Trunk,
    /// A trunk with one VLAN for what the pod sends untagged.
    NativeTagged,
    /// The same, and the pod receives that VLAN untagged.
    NativeUntagged,
}
