//! The IPAM configuration of a network, passed on to the plugin unchanged. The fields that the
//! common plugins share are typed, so that an invalid address is rejected when it is written and
//! not when the first pod starts. Formats: <https://www.cni.dev/plugins/current/ipam/host-local/>
//! and <https://www.cni.dev/plugins/current/ipam/static/>.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::InterfaceAddress;
use crate::cel::rule;
use crate::legacy::PLUGIN;
use crate::problem::{Problem, Problems};
use crate::types::limits::{CIDR_MAX, IP_MAX, IPAM_MAX};
use crate::types::names::{PLUGIN_NAME_MAX, PLUGIN_PATTERN};
use ipnet::IpNet;
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A CNI IPAM configuration.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = in_subnet("rangeStart"), validation = in_subnet("rangeEnd"))]
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
#[x_kube(validation = in_subnet("rangeStart"), validation = in_subnet("rangeEnd"))]
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

/// The configuration as JSON, once its known fields are valid. The outer option is `None` when they
/// are not.
pub(super) fn ipam(problems: &mut Problems, ipam: Option<&IpamSpec>) -> Option<Option<Value>> {
    let Some(ipam) = ipam else { return Some(None) };
    let before = problems.count();
    if !is_plugin(&ipam.plugin) {
        problems.add("spec.ipam.type", Problem::Plugin(ipam.plugin.clone()));
    }
    problems.add_if(ipam.plugin == PLUGIN, "spec.ipam.type", Problem::OwnPlugin);
    for (set, ranges) in ipam.ranges.iter().enumerate() {
        for (index, range) in ranges.iter().enumerate() {
            let field = format!("spec.ipam.ranges[{set}][{index}]");
            addresses(problems, &field, Some(&range.subnet), range);
        }
    }
    let only = IpamRange {
        subnet: String::new(),
        range_start: ipam.range_start.clone(),
        range_end: ipam.range_end.clone(),
        gateway: ipam.gateway.clone(),
    };
    addresses(problems, "spec.ipam", ipam.subnet.as_ref(), &only);
    for (index, address) in ipam.addresses.iter().enumerate() {
        let field = format!("spec.ipam.addresses[{index}]");
        problems.check(&format!("{field}.address"), address.address.parse::<InterfaceAddress>());
        ip(problems, &format!("{field}.gateway"), address.gateway.as_ref());
    }
    for (index, route) in ipam.routes.iter().enumerate() {
        subnet(problems, &format!("spec.ipam.routes[{index}].dst"), &route.dst);
        ip(problems, &format!("spec.ipam.routes[{index}].gw"), route.gw.as_ref());
    }
    // Every node gets it, and so does every agent's memory.
    let value = match serde_json::to_string(ipam) {
        Ok(text) if text.len() > IPAM_MAX => Err(Problem::IpamTooLong(text.len())),
        Ok(_) => serde_json::to_value(ipam).map_err(|error| Problem::Json(error.to_string())),
        Err(error) => Err(Problem::Json(error.to_string())),
    };
    problems.check("spec.ipam", value).filter(|_| problems.count() == before).map(Some)
}

fn addresses(problems: &mut Problems, field: &str, net: Option<&String>, range: &IpamRange) {
    let net = net.and_then(|net| subnet(problems, &format!("{field}.subnet"), net));
    for (name, text) in [("rangeStart", &range.range_start), ("rangeEnd", &range.range_end)] {
        let field = format!("{field}.{name}");
        match (ip(problems, &field, text.as_ref()), net) {
            (Some(address), Some(subnet)) if !subnet.contains(&address) => {
                problems.add(field, Problem::Outside { address, subnet });
            }
            _ => {}
        }
    }
    ip(problems, &format!("{field}.gateway"), range.gateway.as_ref());
}

fn ip(problems: &mut Problems, field: &str, text: Option<&String>) -> Option<IpAddr> {
    text.and_then(|text| problems.check(field, text.parse().map_err(|_| Problem::Ip(text.clone()))))
}

fn subnet(problems: &mut Problems, field: &str, text: &str) -> Option<IpNet> {
    let whole = text.parse::<IpNet>().ok().filter(|net| net.trunc() == *net);
    problems.check(field, whole.ok_or_else(|| Problem::Subnet(text.to_owned())))
}

fn is_plugin(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=PLUGIN_NAME_MAX).contains(&name.len())
        && name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.bytes().all(allowed)
}
