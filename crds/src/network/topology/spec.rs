//! What users write of the topology of a network, and its rules in CEL and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::Topology;
use super::overlay::{OverlaySpec, overlay_of};
use super::uplink_name::uplink_name;
use crate::cel::{at, or_default, range};
use crate::network::bridge::spec::is_adopted;
use crate::problem::{Problem, Problems};
use crate::types::names::UPLINK_NAME_MAX;
use crate::{IpFamily, Mtu, NetworkUplink, Ownership, UplinkName, VlanTag};
use kube::KubeSchema;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How the bridges of a network on different nodes are connected.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopologyType {
    /// The bridges are not connected.
    #[default]
    NodeLocal,
    /// A NIC of each node connects the bridges.
    Uplink,
    /// VXLAN between the nodes connects the bridges.
    Overlay,
}

impl TopologyType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NodeLocal => "NodeLocal",
            Self::Uplink => "Uplink",
            Self::Overlay => "Overlay",
        }
    }

    /// The member of the union that belongs to the type.
    pub const fn member(self) -> &'static str {
        match self {
            Self::NodeLocal => "nodeLocal",
            Self::Uplink => "uplink",
            Self::Overlay => "overlay",
        }
    }
}

impl fmt::Display for TopologyType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The path for rules of the spec.
const TYPE: &str = ".topology.type";

/// How the bridges of a network on different nodes are connected.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[x_kube(
    validation = uplink_needs_member(),
    validation = only_type_has_member(TopologyType::Uplink),
    validation = only_type_has_member(TopologyType::Overlay)
)]
pub struct TopologySpec {
    /// NodeLocal: not at all, pods reach those on the same node. Uplink: by a NIC of each node, and
    /// the member `uplink` is required. Overlay: by VXLAN between the nodes. A change interrupts
    /// the traffic of the network between nodes.
    #[serde(rename = "type", default)]
    pub topology_type: TopologyType,
    /// The uplink; only with the type Uplink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uplink: Option<UplinkSpec>,
    /// The overlay; only with the type Overlay, and not required there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<OverlaySpec>,
}

impl TopologySpec {
    /// The MTU of a bridge for which users choose none.
    pub(crate) fn default_mtu(&self) -> Mtu {
        match (self.topology_type, &self.overlay) {
            (TopologyType::Overlay, Some(overlay)) => Mtu::of_overlay(overlay.ip_family),
            (TopologyType::Overlay, None) => Mtu::of_overlay(IpFamily::default()),
            (TopologyType::NodeLocal | TopologyType::Uplink, _) => Mtu::NODE_LOCAL,
        }
    }
}

/// The uplink of a network, and the network's VLAN on it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct UplinkSpec {
    /// The name of a UserspaceUplink of the same engine.
    #[schemars(length(min = 1, max = UPLINK_NAME_MAX))]
    #[x_kube(validation = uplink_name())]
    pub name: String,
    /// The VLAN of the network's frames on the NIC, 1 to 4094: one of `vlans` of the uplink that no
    /// other network has. Without it, frames are untagged, which at most one network of an uplink
    /// is. Pods send and receive frames without this tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = vlan())]
    pub vlan: Option<i64>,
}

fn vlan() -> Rule {
    range("VLAN tag", VlanTag::MINIMUM, VlanTag::MAXIMUM)
}

/// An overlay needs no member: it has defaults for all.
fn uplink_needs_member() -> Rule {
    let has_it = format!("{} != '{}' || has(self.uplink)", topology_type(".type"), TopologyType::Uplink);
    at(".uplink", has_it, &Problem::UplinkMissing)
}

/// The type of the topology, which is in this field below `self`.
fn topology_type(field: &str) -> String {
    or_default(field, &format!("'{}'", TopologyType::default()))
}

/// An expression for rules of the spec.
pub(crate) fn is_node_local() -> String {
    format!("{} == '{}'", topology_type(TYPE), TopologyType::NodeLocal)
}

fn only_type_has_member(topology: TopologyType) -> Rule {
    let member = topology.member();
    let has_none = format!("{} == '{topology}' || !has(self.{member})", topology_type(".type"));
    at(&format!(".{member}"), has_none, &Problem::OnlyForTopology(topology))
}

/// Rules of the spec, which depend on other fields.
pub(crate) fn rules() -> impl Iterator<Item = Rule> {
    let is_managed = format!("{} || !{}", is_node_local(), is_adopted());
    [at(TYPE, is_managed, &Problem::TopologyOfAdopted)].into_iter()
}

/// The topology of a network whose bridge has this owner.
pub(crate) fn topology(problems: &mut Problems, spec: &TopologySpec, ownership: Ownership) -> Option<Topology> {
    let is_adopted = spec.topology_type != TopologyType::NodeLocal && ownership == Ownership::Adopted;
    problems.add_if(is_adopted, "spec.topology.type", Problem::TopologyOfAdopted);
    let present = [(TopologyType::Uplink, spec.uplink.is_some()), (TopologyType::Overlay, spec.overlay.is_some())];
    let mut is_union = true;
    for (topology, is_present) in present {
        let is_foreign = is_present && topology != spec.topology_type;
        problems.add_if(
            is_foreign,
            &format!("spec.topology.{}", topology.member()),
            Problem::OnlyForTopology(topology),
        );
        is_union &= !is_foreign;
    }
    let lacks_uplink = spec.topology_type == TopologyType::Uplink && spec.uplink.is_none();
    problems.add_if(lacks_uplink, "spec.topology.uplink", Problem::UplinkMissing);
    match spec.topology_type {
        _ if !is_union => None,
        TopologyType::NodeLocal => Some(Topology::NodeLocal),
        TopologyType::Uplink => uplink_of(problems, spec.uplink.as_ref()?).map(Topology::Uplink),
        TopologyType::Overlay => overlay_of(problems, &spec.overlay.clone().unwrap_or_default()).map(Topology::Overlay),
    }
}

fn uplink_of(problems: &mut Problems, spec: &UplinkSpec) -> Option<NetworkUplink> {
    let name = problems.check("spec.topology.uplink.name", UplinkName::try_from(spec.name.clone()));
    let vlan = match spec.vlan {
        Some(vlan) => Some(problems.check("spec.topology.uplink.vlan", vlan.try_into())?),
        None => None,
    };
    Some(NetworkUplink { name: name?, vlan })
}
