//! From what people may write to what cannot be wrong. The API server runs the same rules (see `rules`), but a cluster may have an older
//! CRD or none of the rules: after [`validate`] nobody reads the loose spec again.

use crate::ipam::{IpamRange, IpamSpec, PLUGIN_NAME_MAX};
use crate::network::{UserspaceNetwork, VlanSpec};
use crate::{Bridge, BridgeName, Engine, InvalidName, NetworkName, OutOfRange, Port, Vlan};
use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Selector;
use std::fmt;
use std::net::IpAddr;

/// A network whose spec breaks no rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidNetwork {
    /// Its name.
    pub name: NetworkName,
    /// Who carries it.
    pub engine: Engine,
    /// Namespaces whose pods may attach.
    pub namespaces: Selector,
    /// Nodes that carry it; none means those that have the engine.
    pub nodes: Option<Selector>,
    /// Its bridge.
    pub bridge: Bridge,
    /// What its ports start from.
    pub port: Port,
    /// A CNI IPAM configuration.
    pub ipam: Option<serde_json::Value>,
}

/// All that is wrong with a spec; at least one problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct InvalidSpec {
    /// What is wrong, in the order of the fields.
    pub problems: Vec<InvalidField>,
}

impl fmt::Display for InvalidSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        formatter.write_str(&texts.join("; "))
    }
}

/// A field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidField {
    /// Where, as `spec.bridge.mtu`.
    pub field: String,
    /// What is wrong and what to do.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A name.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A number.
    #[error(transparent)]
    Number(#[from] OutOfRange),
    /// A label selector has an unknown operator.
    #[error("unknown operator {0:?}: use In, NotIn, Exists or DoesNotExist")]
    SelectorOperator(String),
    /// A label selector has values where none belong, or none where some do.
    #[error("In and NotIn need values; Exists and DoesNotExist take none")]
    SelectorValues,
    /// Not the file name of a plugin.
    #[error("{0:?} cannot be the file name of an IPAM plugin: use letters, digits, '.', '_' and '-'")]
    Plugin(String),
    /// Not a subnet.
    #[error("{0:?} is not a subnet: use CIDR notation without host bits, such as 10.56.217.0/24")]
    Subnet(String),
    /// Not an address with its prefix length.
    #[error("{0:?} is not an address with its prefix length: use CIDR notation, such as 10.56.217.5/24")]
    Cidr(String),
    /// Not an address.
    #[error("{0:?} is not an IP address")]
    Ip(String),
    /// An address outside of its subnet.
    #[error("{address} is outside of {subnet}")]
    Outside {
        /// The address.
        address: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// The configuration has no JSON form.
    #[error("cannot be written as JSON: {0}")]
    Json(String),
}

/// Checks a network and makes it strict.
///
/// # Errors
/// All the fields that break a rule.
pub fn validate(network: &UserspaceNetwork) -> Result<ValidNetwork, InvalidSpec> {
    let mut problems = Problems::default();
    let spec = &network.spec;
    let text = network.metadata.name.clone().unwrap_or_default();
    let name = problems.check("metadata.name", NetworkName::try_from(text));
    let namespaces = selector(&mut problems, "spec.namespaceSelector", &spec.namespace_selector);
    let nodes = match &spec.node_selector {
        Some(nodes) => selector(&mut problems, "spec.nodeSelector", nodes).map(Some),
        None => Some(None),
    };
    let bridge_name = match &spec.bridge.name {
        Some(bridge) => problems.check("spec.bridge.name", BridgeName::try_from(bridge.clone())),
        None => name.as_ref().map(BridgeName::default_for),
    };
    let mtu = problems.check("spec.bridge.mtu", spec.bridge.mtu.try_into());
    let queues = problems.check("spec.port.queues", spec.port.queues.try_into());
    let vlan = match &spec.port.vlan {
        Some(VlanSpec { mode: crate::network::VlanMode::Access, tag }) => {
            problems.check("spec.port.vlan.tag", (*tag).try_into()).map(|tag| Some(Vlan::Access { tag }))
        }
        None => Some(None),
    };
    let ipam = ipam(&mut problems, spec.ipam.as_ref());
    match (name, namespaces, nodes, bridge_name, mtu, queues, vlan, ipam) {
        (Some(name), Some(namespaces), Some(nodes), Some(bridge), Some(mtu), Some(queues), Some(vlan), Some(ipam))
            if problems.0.is_empty() =>
        {
            let bridge = Bridge { name: bridge, mtu };
            let port = Port { port_type: spec.port.port_type, queues, vlan };
            Ok(ValidNetwork { name, engine: spec.engine, namespaces, nodes, bridge, port, ipam })
        }
        _ => Err(InvalidSpec { problems: problems.0 }),
    }
}

#[derive(Default)]
struct Problems(Vec<InvalidField>);

impl Problems {
    fn add(&mut self, field: impl Into<String>, problem: Problem) {
        self.0.push(InvalidField { field: field.into(), problem });
    }

    fn check<T, E: Into<Problem>>(&mut self, field: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|problem| self.add(field, problem.into())).ok()
    }
}

fn selector(problems: &mut Problems, field: &str, selector: &LabelSelector) -> Option<Selector> {
    for (index, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        let has_values = requirement.values.as_ref().is_some_and(|values| !values.is_empty());
        let problem = match requirement.operator.as_str() {
            "In" | "NotIn" if has_values => continue,
            "Exists" | "DoesNotExist" if !has_values => continue,
            "In" | "NotIn" | "Exists" | "DoesNotExist" => Problem::SelectorValues,
            other => Problem::SelectorOperator(other.to_owned()),
        };
        problems.add(format!("{field}.matchExpressions[{index}]"), problem);
        return None;
    }
    let unknown = |_| Problem::SelectorValues;
    problems.check(field, Selector::try_from(selector.clone()).map_err(unknown))
}

/// The configuration as JSON, once its known fields are right. The outer option is `None` when they are not.
fn ipam(problems: &mut Problems, ipam: Option<&IpamSpec>) -> Option<Option<serde_json::Value>> {
    let Some(ipam) = ipam else { return Some(None) };
    let before = problems.0.len();
    if !is_plugin(&ipam.plugin) {
        problems.add("spec.ipam.type", Problem::Plugin(ipam.plugin.clone()));
    }
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
        let cidr = address.address.parse::<IpNet>().map_err(|_| Problem::Cidr(address.address.clone()));
        problems.check(&format!("{field}.address"), cidr);
        ip(problems, &format!("{field}.gateway"), address.gateway.as_ref());
    }
    for (index, route) in ipam.routes.iter().enumerate() {
        subnet(problems, &format!("spec.ipam.routes[{index}].dst"), &route.dst);
        ip(problems, &format!("spec.ipam.routes[{index}].gw"), route.gw.as_ref());
    }
    let value = serde_json::to_value(ipam).map_err(|error| Problem::Json(error.to_string()));
    problems.check("spec.ipam", value).filter(|_| problems.0.len() == before).map(Some)
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
