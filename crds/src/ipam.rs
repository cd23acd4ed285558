//! The IPAM configuration of a network, passed on to the plugin unchanged. The fields that the
//! common plugins share are typed, so that an invalid address is rejected when it is written and
//! not when the first pod starts. Formats: <https://www.cni.dev/plugins/current/ipam/host-local/>
//! and <https://www.cni.dev/plugins/current/ipam/static/>.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::fixed_attachment::CIDR_MAX;
use crate::rules;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Pattern of the name of an IPAM plugin: a file name in the CNI plugin directory, never a path.
pub const PLUGIN_PATTERN: &str = "^[a-zA-Z0-9][a-zA-Z0-9._-]*$";
/// Longest name of an IPAM plugin, in bytes.
pub const PLUGIN_NAME_MAX: usize = 63;
/// Longest IPAM configuration of a network or a NetworkAttachmentDefinition, in bytes of JSON:
/// every node stores it.
pub const IPAM_MAX: usize = 8 * 1024;
/// Longest text of an address.
const IP_MAX: usize = 39;

/// A CNI IPAM configuration.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = rules::in_subnet("rangeStart"), validation = rules::in_subnet("rangeEnd"))]
pub struct IpamSpec {
    /// The IPAM plugin: host-local, static or another that is installed on the nodes.
    #[serde(rename = "type")]
    #[schemars(length(max = PLUGIN_NAME_MAX))]
    #[x_kube(validation = rules::ipam_type())]
    pub plugin: String,
    /// host-local: sets of address ranges; a port gets one address of each set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(max = 16)))]
    pub ranges: Vec<Vec<IpamRange>>,
    /// host-local: the subnet, where there is only one range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = rules::subnet())]
    pub subnet: Option<String>,
    /// host-local: first address of the only range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub range_start: Option<String>,
    /// host-local: last address of the only range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub range_end: Option<String>,
    /// host-local: gateway of the only range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub gateway: Option<String>,
    /// static: the addresses of the port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub addresses: Vec<IpamAddress>,
    /// Routes that the pod is told.
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
#[x_kube(validation = rules::in_subnet("rangeStart"), validation = rules::in_subnet("rangeEnd"))]
pub struct IpamRange {
    /// The subnet, in CIDR notation.
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = rules::subnet())]
    pub subnet: String,
    /// First address to give out; default the second of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub range_start: Option<String>,
    /// Last address to give out; default the last but one of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub range_end: Option<String>,
    /// The gateway; default the first address of the subnet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub gateway: Option<String>,
}

/// An address of a port (static).
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct IpamAddress {
    /// The address with its prefix length.
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = rules::cidr())]
    pub address: String,
    /// The gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub gateway: Option<String>,
}

/// A route that the pod is told.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct IpamRoute {
    /// The destination, in CIDR notation.
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = rules::subnet())]
    pub dst: String,
    /// The next hop; default the gateway.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = IP_MAX))]
    #[x_kube(validation = rules::ip())]
    pub gw: Option<String>,
}
