//! What users write of the IPAM configuration of a network, and its rules in CEL. Formats:
//! <https://www.cni.dev/plugins/current/ipam/host-local/> and
//! <https://www.cni.dev/plugins/current/ipam/static/>.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::node_prefix::{self, NodePrefixSpec};
use super::plugin_cel;
use crate::cel::rule;
use crate::legacy::PLUGIN;
use crate::problem::Problem;
use crate::types::limits::{CIDR_MAX, IP_MAX};
use crate::types::names::{PLUGIN_NAME_MAX, PLUGIN_PATTERN};
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A CNI IPAM configuration.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = in_subnet("rangeStart"),
    validation = in_subnet("rangeEnd"),
    validation = plugin_cel::reachable_gateway(),
    validation = plugin_cel::has_range(),
    validation = plugin_cel::no_empty_set(),
    validation = plugin_cel::one_family(),
    validation = plugin_cel::large_enough(),
    validation = node_prefix::only_host_local(),
    validation = node_prefix::has_range(),
    validation = node_prefix::fits(node_prefix::Family::V4),
    validation = node_prefix::fits(node_prefix::Family::V6)
)]
pub struct IpamSpec {
    /// The IPAM plugin: host-local, static or another that is installed on the nodes.
    #[serde(rename = "type")]
    #[schemars(length(max = PLUGIN_NAME_MAX))]
    #[x_kube(validation = ipam_type(), validation = not_this_plugin())]
    pub plugin: String,
    /// host-local: sets of address ranges; a port gets one address of each set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 16)))]
    pub ranges: Vec<Vec<IpamRange>>,
    /// host-local: the subnet, where there is only one range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = is_subnet())]
    pub subnet: Option<String>,
    /// host-local: first address of the only range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub range_start: Option<String>,
    /// host-local: last address of the only range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub range_end: Option<String>,
    /// host-local: gateway of the only range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub gateway: Option<String>,
    /// host-local: gives each node its own part of the ranges, so that addresses are unique in
    /// the cluster without a request at the start of a pod. usnet divides the ranges, and the
    /// plugin does not see this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_prefix: Option<NodePrefixSpec>,
    /// static: the addresses of the port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub addresses: Vec<IpamAddress>,
    /// Routes that are set in the pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub routes: Vec<IpamRoute>,
    /// Whatever else the plugin understands.
    #[serde(flatten)]
    pub other: BTreeMap<String, Value>,
}

/// A range of addresses (host-local).
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = in_subnet("rangeStart"),
    validation = in_subnet("rangeEnd"),
    validation = plugin_cel::reachable_gateway()
)]
pub struct IpamRange {
    /// The subnet, in CIDR notation.
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = is_subnet())]
    pub subnet: String,
    /// First address to give out; default the second of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub range_start: Option<String>,
    /// Last address to give out; default the last but one of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub range_end: Option<String>,
    /// The gateway; default the first address of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub gateway: Option<String>,
}

/// An address of a port (static).
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct IpamAddress {
    /// The address with its prefix length.
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = is_cidr())]
    pub address: String,
    /// The gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub gateway: Option<String>,
}

/// A route that is set in the pod.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct IpamRoute {
    /// The destination, in CIDR notation.
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = is_subnet())]
    pub dst: String,
    /// The next hop; default the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = is_ip())]
    pub gw: Option<String>,
}

fn ipam_type() -> Rule {
    rule(
        format!("self.matches('{PLUGIN_PATTERN}')"),
        "use the file name of an IPAM plugin, such as host-local: letters, digits, '.', '_' and '-'",
    )
}

/// It would call itself and wait for its own lock.
fn not_this_plugin() -> Rule {
    rule(format!("self != '{PLUGIN}'"), Problem::OwnPlugin.to_string())
}

fn is_subnet() -> Rule {
    rule(
        "isCIDR(self) && cidr(self).masked() == cidr(self)",
        "not a subnet: use CIDR notation without host bits, such as 10.56.217.0/24",
    )
}

fn is_cidr() -> Rule {
    rule("isCIDR(self)", "not an address with its prefix length: use CIDR notation, such as 10.56.217.5/24")
}

fn is_ip() -> Rule {
    rule("isIP(self)", "not an IP address")
}

/// `field` (an address) must be in the sibling `subnet`. Other rules reject invalid addresses and
/// subnets.
fn in_subnet(field: &str) -> Rule {
    let parsed = format!("!has(self.subnet) || !isCIDR(self.subnet) || !has(self.{field}) || !isIP(self.{field})");
    rule(format!("{parsed} || cidr(self.subnet).containsIP(self.{field})"), format!("{field} is outside of subnet"))
        .field_path(format!(".{field}"))
}
