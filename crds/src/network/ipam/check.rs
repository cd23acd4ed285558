//! The rules of the IPAM configuration of a network, in Rust.

use super::divided_ranges;
use super::node_prefix::NodePrefix;
use super::plugin_rules;
use super::spec::{IpamRange, IpamSpec};
use crate::InterfaceAddress;
use crate::legacy::PLUGIN;
use crate::problem::{InvalidSpec, Problem, Problems};
use crate::types::limits::IPAM_MAX;
use crate::types::names::PLUGIN_NAME_MAX;
use ipnet::IpNet;
use serde_json::Value;
use std::net::IpAddr;

/// The configuration as JSON and what divides its ranges among the nodes, once its known fields are
/// valid. The outer option is none when they are not.
pub(in crate::network) fn ipam(
    problems: &mut Problems,
    ipam: Option<&IpamSpec>,
) -> Option<(Option<Value>, Option<NodePrefix>)> {
    let Some(ipam) = ipam else { return Some((None, None)) };
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
    plugin_rules::check(problems, ipam);
    let prefix = divided_ranges::node_prefix(problems, ipam);
    let value = problems.check("spec.ipam", configuration(ipam));
    value.filter(|_| problems.count() == before).map(|value| (Some(value), prefix))
}

/// Checks the `ipam` of a NetworkAttachmentDefinition in the same way.
pub fn check_definition(value: &Value) -> Result<(), InvalidSpec> {
    let mut problems = Problems::default();
    match serde_json::from_value::<IpamSpec>(value.clone()) {
        Ok(spec) => drop(ipam(&mut problems, Some(&spec))),
        Err(error) => problems.add("spec.ipam", Problem::Json(error.to_string())),
    }
    if problems.count() == 0 { Ok(()) } else { Err(problems.into_invalid()) }
}

/// The configuration that the plugin gets.
fn configuration(ipam: &IpamSpec) -> Result<Value, Problem> {
    let passed_on = IpamSpec { node_prefix: None, ..ipam.clone() };
    let value = serde_json::to_value(passed_on).map_err(|error| Problem::Json(error.to_string()))?;
    // Every node gets it, and so does every agent's memory.
    match value.to_string().len() {
        length if length > IPAM_MAX => Err(Problem::IpamTooLong(length)),
        _ => Ok(value),
    }
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
    let field = format!("{field}.gateway");
    match (ip(problems, &field, range.gateway.as_ref()), net) {
        (Some(address), Some(subnet)) if !plugin_rules::is_reachable(address, &subnet) => {
            problems.add(field, Problem::Outside { address, subnet });
        }
        _ => {}
    }
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
