//! What users write of the node itself in a network, and its rules in CEL and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::NodeAccess;
use crate::cel::{at, is, is_set};
use crate::network::gateway::Gateway;
use crate::network::gateway::spec::{ADDRESSES_MAX, addresses, host_addresses, one_of_each_family};
use crate::network::port::Port;
use crate::network::topology::Topology;
use crate::problem::{Problem, Problems};
use crate::types::limits::CIDR_MAX;
use crate::{FixedAttachment, MemifMode};
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};

/// An address of each node in the network, by which kubelet, Services and host ports reach pods
/// whose only network it is. Pods open no connections to the node.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct NodeAccessSpec {
    /// The addresses with prefix lengths: one, or one of each family. No pod gets them. With
    /// topology NodeLocal each node has them; otherwise the node with the number 0 has them, the
    /// next one the next addresses, and so on, which the ranges of ipam have to leave out.
    #[schemars(length(min = 1, max = ADDRESSES_MAX), inner(length(max = CIDR_MAX)))]
    #[x_kube(validation = host_addresses(), validation = one_of_each_family())]
    pub addresses: Vec<String>,
}

/// Rules of the spec, which depend on other fields.
pub(crate) fn rules() -> impl Iterator<Item = Rule> {
    let without = |excluded: String| format!("!has(self.nodeAccess) || !{excluded}");
    let vlan = at(".nodeAccess", without(is_set(".port.vlan")), &Problem::NodeAccessInVlan);
    let routed = at(".nodeAccess", without(is(".port.memif.mode", "IP")), &Problem::NodeAccessWithoutBridge);
    [vlan, routed].into_iter()
}

/// The node in a network with these settings. The outer option is none when the spec is wrong.
pub(crate) fn node_access(
    problems: &mut Problems,
    spec: Option<&NodeAccessSpec>,
    (port, topology, gateway): (Option<&Port>, Option<&Topology>, Option<&Gateway>),
    attachments: &[FixedAttachment],
) -> Option<Option<NodeAccess>> {
    let Some(spec) = spec else { return Some(None) };
    let before = problems.count();
    let is_in_vlan = port.is_some_and(|port| port.vlan.is_some());
    problems.add_if(is_in_vlan, "spec.nodeAccess", Problem::NodeAccessInVlan);
    let is_routed = port.is_some_and(|port| port.memif.mode == MemifMode::Ip);
    problems.add_if(is_routed, "spec.nodeAccess", Problem::NodeAccessWithoutBridge);
    let addresses = addresses(problems, "spec.nodeAccess.addresses", &spec.addresses);
    let per_node = topology.is_some_and(|topology| *topology != Topology::NodeLocal);
    let access = NodeAccess { addresses, per_node };
    let of_gateway = access.addresses.iter().map(|own| own.ip()).find(|ip| gateway.is_some_and(|it| it.has(*ip)));
    if let Some(ip) = of_gateway {
        problems.add("spec.nodeAccess.addresses".to_owned(), Problem::IpOfGateway(ip));
    }
    for (index, fixed) in attachments.iter().enumerate() {
        if let Some(ip) = fixed.addresses().find(|ip| access.has(*ip)) {
            problems.add(format!("spec.attachments[{index}].ips"), Problem::IpOfNode(ip));
        }
    }
    (problems.count() == before).then_some(Some(access))
}
