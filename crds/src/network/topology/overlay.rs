//! What users write of an overlay, and its rules in CEL and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::Overlay;
use super::underlay::{self, UnderlaySpec};
use crate::cel::{at, is, range, rule};
use crate::problem::{Problem, Problems};
use crate::types::limits::IP_MAX;
use crate::{Encapsulation, IpFamily, UdpPort, Vni};
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The VXLAN between the nodes of a network.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = group_of_family(),
    validation = group_of_kernel(),
    validation = underlay::fits_encapsulation()
)]
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
    /// Kernel: by a VXLAN device of Linux on each node. Nothing else on a node changes. Engine: by
    /// the software switch itself, which needs a NIC for it and the `underlay` Uplink.
    #[serde(default)]
    pub encapsulation: Encapsulation,
    /// The addresses between which nodes send the encapsulated packets.
    #[serde(default)]
    pub underlay: UnderlaySpec,
    /// The family of these addresses. Each node of the network needs an InternalIP of it; with the
    /// underlay Uplink, it has to be that of the subnet.
    #[serde(default)]
    pub ip_family: IpFamily,
    /// A multicast address of that family. Nodes send broadcasts, and frames to MAC addresses that
    /// they have not learned, once to this address instead of once to each other node. Required for
    /// more than 250 nodes. The nodes have to be in one Ethernet segment. Only with the
    /// encapsulation Kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = multicast())]
    pub multicast_group: Option<String>,
}

impl Default for OverlaySpec {
    fn default() -> Self {
        Self {
            vni: None,
            port: default_port(),
            encapsulation: Encapsulation::default(),
            underlay: UnderlaySpec::default(),
            ip_family: IpFamily::default(),
            multicast_group: None,
        }
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

/// Addresses that start with 224 are reserved for protocols.
const MULTICAST_PATTERN: &str = "^((22[5-9]|23[0-9])[.]|[fF][fF])";

fn multicast() -> Rule {
    let advice = Problem::MulticastGroup("self".to_owned()).to_string().replace("\"self\"", "this");
    rule(format!("isIP(self) && self.matches('{MULTICAST_PATTERN}')"), advice)
}

fn group_of_family() -> Rule {
    at(
        ".multicastGroup",
        format!("!has(self.multicastGroup) || self.multicastGroup.contains(':') == {}", is(".ipFamily", "IPv6")),
        &Problem::MulticastFamily,
    )
}

fn group_of_kernel() -> Rule {
    let is_of_kernel = format!("!has(self.multicastGroup) || !{}", underlay::is_of_engine());
    at(".multicastGroup", is_of_kernel, &Problem::MulticastOfEngine)
}

pub(super) fn overlay_of(problems: &mut Problems, spec: &OverlaySpec) -> Option<Overlay> {
    let before = problems.count();
    let vni = spec.vni.and_then(|vni| problems.check("spec.topology.overlay.vni", vni.try_into()));
    let port = problems.check("spec.topology.overlay.port", spec.port.try_into());
    let group = spec.multicast_group.as_deref();
    let group = group.and_then(|text| problems.check("spec.topology.overlay.multicastGroup", multicast_group(text)));
    let is_of_other = group.is_some_and(|group| !spec.ip_family.contains(group));
    problems.add_if(is_of_other, "spec.topology.overlay.multicastGroup", Problem::MulticastFamily);
    let is_of_engine = group.is_some() && spec.encapsulation == Encapsulation::Engine;
    problems.add_if(is_of_engine, "spec.topology.overlay.multicastGroup", Problem::MulticastOfEngine);
    let underlay = underlay::uplink_of(problems, &spec.underlay, spec.encapsulation);
    let overlay = Overlay { vni, port: port?, ip_family: spec.ip_family, underlay, multicast_group: group };
    (problems.count() == before).then_some(overlay)
}

fn multicast_group(text: &str) -> Result<IpAddr, Problem> {
    let is_usable = |address: &IpAddr| match address {
        IpAddr::V4(address) => address.is_multicast() && address.octets()[0] != 224,
        IpAddr::V6(address) => address.is_multicast(),
    };
    text.parse().ok().filter(is_usable).ok_or_else(|| Problem::MulticastGroup(text.to_owned()))
}
