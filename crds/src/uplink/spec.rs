//! `UserspaceUplink`: what users write, and its rules in CEL.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::NodeTraffic;
use super::bond::{bond_is_refused_with_shared, bonds_need_open_vswitch};
use super::driver::{drivers_need_open_vswitch, shared_needs_af_packet};
use super::nic::{self, NICS_MAX, NicSpec};
use super::problem::UplinkProblem;
use super::status::UserspaceUplinkStatus;
use super::underlay::UplinkUnderlaySpec;
use crate::EngineKind;
use crate::cel::{at, is, rule};
use crate::problem::Problem;
use crate::types::names::UPLINK_NAME_MAX;
use crate::types::vlan_ranges::{VLAN_RANGE_MAX, VLAN_RANGE_PATTERN, VLAN_RANGES_MAX};
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A NIC on each of its nodes, by which networks reach what is outside of the nodes.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspaceUplink",
    shortname = "usu",
    category = "usnet",
    category = "userspace",
    status = "UserspaceUplinkStatus",
    derive = "PartialEq",
    doc = "A NIC on each of its nodes, by which networks reach what is outside of the nodes. Each network has a VLAN of its own on it.",
    validation = is_short_name(),
    printcolumn(name = "Engine", type_ = "string", json_path = ".spec.engine"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Nodes", type_ = "string", json_path = ".status.nodes.summary", description = "programmed/selected"),
    printcolumn(name = "Networks", type_ = "integer", json_path = ".status.networkCount", description = "networks that use it"),
    printcolumn(name = "VLANs", type_ = "string", json_path = ".spec.vlans"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Message", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].message", priority = 1)
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = nic::only_the_last_selects_all(),
    validation = drivers_need_open_vswitch(),
    validation = shared_needs_af_packet(),
    validation = bonds_need_open_vswitch(),
    validation = bond_is_refused_with_shared(),
    validation = shared_needs_vlans(),
    validation = shared_needs_open_vswitch(),
    validation = shared_needs_vlan_of_underlay()
)]
pub struct UserspaceUplinkSpec {
    /// The software switch that has the NIC: OVS or VPP. It cannot change.
    #[x_kube(validation = engine_immutable())]
    pub engine: EngineKind,
    /// The NIC of each node: the first entry whose nodeSelector matches the labels of the node. A
    /// node that none matches does not have the uplink.
    #[schemars(length(min = 1, max = NICS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub nics: Vec<NicSpec>,
    /// Refused: a NIC with an address or the default route of the node, or that is a member of a
    /// bond or bridge of Linux, is left alone. Shared, only with OVS: the node keeps its addresses
    /// and untagged frames, and networks need a VLAN.
    #[serde(default)]
    pub node_traffic: NodeTraffic,
    /// The VLANs that networks may have, as ranges such as 100-199, or single ones. Without any,
    /// there may be one network, whose frames are untagged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = VLAN_RANGES_MAX),
        inner(length(max = VLAN_RANGE_MAX), regex(pattern = VLAN_RANGE_PATTERN))
    )]
    #[x_kube(merge_strategy = ListMerge::Atomic, validation = vlans())]
    pub vlans: Vec<String>,
    /// The addresses of the nodes on these NICs, for overlays whose encapsulation is Engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underlay: Option<UplinkUnderlaySpec>,
}

fn is_short_name() -> Rule {
    rule(
        format!("!self.metadata.name.contains('.') && size(self.metadata.name) <= {UPLINK_NAME_MAX}"),
        format!("metadata.name is not a DNS label: use at most {UPLINK_NAME_MAX} lower-case letters, digits and '-'"),
    )
}

fn engine_immutable() -> Rule {
    rule("self == oldSelf", "engine cannot change: create a new uplink and move the networks to it")
}

/// Whether the NICs are not shared with the nodes.
fn is_refused() -> String {
    format!("!{}", is(".nodeTraffic", "Shared"))
}

fn shared_needs_vlans() -> Rule {
    let needs_vlans = format!("{} || (has(self.vlans) && size(self.vlans) > 0)", is_refused());
    at(".nodeTraffic", needs_vlans, &Problem::from(UplinkProblem::SharedWithoutVlans))
}

fn shared_needs_open_vswitch() -> Rule {
    let engine = EngineKind::OpenVswitch.traits().api_name;
    let rule = format!("{} || self.engine == '{engine}'", is_refused());
    at(".nodeTraffic", rule, &Problem::from(UplinkProblem::SharedEngine))
}

fn shared_needs_vlan_of_underlay() -> Rule {
    let has_vlan = format!("{} || !has(self.underlay) || has(self.underlay.vlan)", is_refused());
    at(".underlay", has_vlan, &Problem::from(UplinkProblem::SharedUnderlay))
}

pub(crate) fn vlans() -> Rule {
    let ends = "r.split('-')";
    rule(
        format!(
            "self.all(r, {ends}.all(v, int(v) <= 4094) && (size({ends}) == 1 || int({ends}[0]) <= int({ends}[1])))"
        ),
        "not a range of VLANs: use 1 to 4094, the smaller one first, as 100-199",
    )
}
