//! What users write of the topology of a network, and its rules in CEL and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::{Overlay, Topology};
use crate::cel::{at, range};
use crate::problem::{Problem, Problems};
use crate::{Mtu, Ownership, UdpPort, Vni};
use kube::KubeSchema;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the bridges of a network on different nodes are connected.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TopologyType {
    /// Not at all.
    #[default]
    NodeLocal,
    /// By VXLAN between the nodes.
    Overlay,
}

impl TopologyType {
    /// The MTU of a bridge for which users choose none.
    pub const fn default_mtu(self) -> Mtu {
        match self {
            Self::NodeLocal => Mtu::NODE_LOCAL,
            Self::Overlay => Mtu::OVERLAY,
        }
    }
}

/// How the bridges of a network on different nodes are connected.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[x_kube(validation = overlay_needs_member(), validation = only_overlay_has_member())]
pub struct TopologySpec {
    /// NodeLocal: not at all, pods reach those on the same node. Overlay: by VXLAN between the
    /// nodes, and the member `overlay` is required. A change interrupts the traffic of the network
    /// between nodes.
    #[serde(rename = "type", default)]
    pub topology_type: TopologyType,
    /// Only with the type Overlay; {} for the defaults.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlay: Option<OverlaySpec>,
}

/// The VXLAN between the nodes of a network.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlaySpec {
    /// The id of the VXLAN network, 1 to 16777215, the same on all nodes; default one from 8388608
    /// on that no other network has, which `status.overlay.vni` shows. Networks of different
    /// engines are one segment when both set the same `vni`; a node cannot carry both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = vni())]
    pub vni: Option<i64>,
    /// The UDP port to which nodes send the encapsulated packets. The firewalls of the nodes have
    /// to let it in.
    #[serde(default = "default_port")]
    #[x_kube(validation = port())]
    pub port: i64,
    /// Kernel: by a VXLAN device of Linux on each node, with the first IPv4 InternalIP of the
    /// nodes. Nothing else on a node changes.
    #[serde(default)]
    pub encapsulation: Encapsulation,
}

/// Who encapsulates.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encapsulation {
    /// A VXLAN device of Linux.
    #[default]
    Kernel,
}

impl Default for OverlaySpec {
    fn default() -> Self {
        Self { vni: None, port: default_port(), encapsulation: Encapsulation::default() }
    }
}

fn default_port() -> i64 {
    UdpPort::default().into()
}

fn vni() -> Rule {
    range("VNI", Vni::MINIMUM, Vni::MAXIMUM)
}

fn port() -> Rule {
    range("UDP port", UdpPort::MINIMUM, UdpPort::MAXIMUM)
}

fn overlay_needs_member() -> Rule {
    at(".overlay", "self.type != 'Overlay' || has(self.overlay)", &Problem::OverlayMissing)
}

fn only_overlay_has_member() -> Rule {
    at(".overlay", "self.type == 'Overlay' || !has(self.overlay)", &Problem::OverlayOfNodeLocal)
}

/// For the spec: what depends on other fields.
pub(crate) fn rules() -> impl Iterator<Item = Rule> {
    let is_managed = "self.topology.type != 'Overlay' || self.bridge.ownership != 'Adopted'";
    [at(".topology.type", is_managed, &Problem::OverlayOfAdopted)].into_iter()
}

/// The topology of a network whose bridge has this owner.
pub(crate) fn topology(problems: &mut Problems, spec: &TopologySpec, ownership: Ownership) -> Option<Topology> {
    let is_overlay = spec.topology_type == TopologyType::Overlay;
    let is_adopted = is_overlay && ownership == Ownership::Adopted;
    problems.add_if(is_adopted, "spec.topology.type", Problem::OverlayOfAdopted);
    match &spec.overlay {
        None if is_overlay => problems.add("spec.topology.overlay", Problem::OverlayMissing),
        None => return Some(Topology::NodeLocal),
        Some(_) if !is_overlay => problems.add("spec.topology.overlay", Problem::OverlayOfNodeLocal),
        Some(overlay) => {
            let vni = overlay.vni.map(|vni| problems.check("spec.topology.overlay.vni", vni.try_into()));
            let port = problems.check("spec.topology.overlay.port", overlay.port.try_into());
            let is_valid = vni != Some(None);
            return port.filter(|_| is_valid).map(|port| Topology::Overlay(Overlay { vni: vni.flatten(), port }));
        }
    }
    None
}
