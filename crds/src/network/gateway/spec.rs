//! What users write of the gateway of a network, and its rules in CEL and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::Gateway;
use crate::cel::{at, rule, with_engine};
use crate::network::bridge::spec::is_adopted;
use crate::problem::{Problem, Problems, bridges};
use crate::types::limits::CIDR_MAX;
use crate::types::names::{NAMESPACE_NAME_PATTERN, ROUTING_DOMAIN_MAX};
use crate::{EngineKind, FixedAttachment, InterfaceAddress, Ownership, RoutingDomain};
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};

/// A gateway has at most one address of each family.
pub(crate) const ADDRESSES_MAX: usize = 2;

/// The engine's own addresses in the network, on every node of it: pods reach other networks by
/// them.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpec {
    /// The addresses with prefix lengths, the same on all nodes: one, or one of each family. No pod
    /// gets them.
    #[schemars(length(min = 1, max = ADDRESSES_MAX), inner(length(max = CIDR_MAX)))]
    #[x_kube(validation = host_addresses(), validation = one_of_each_family())]
    pub addresses: Vec<String>,
    /// Networks with the same routing domain reach each other on a node, and no others. Their
    /// subnets must not overlap. Default: this network reaches no other, and its subnets may be
    /// those of others, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = ROUTING_DOMAIN_MAX))]
    #[x_kube(validation = routing_domain())]
    pub routing_domain: Option<String>,
}

/// Only the check in Rust excludes broadcast addresses: the API server knows the cost of `==`, but
/// takes `!=` for too expensive.
pub(crate) fn host_addresses() -> Rule {
    let is_host = "!(cidr(a).masked() == cidr(a)) && cidr(a).ip().isGlobalUnicast()";
    rule(
        format!("self.all(a, isCIDR(a) && {is_host})"),
        "not an address of a host in its subnet: use CIDR notation with host bits, such as 10.56.217.1/24",
    )
}

pub(crate) fn one_of_each_family() -> Rule {
    rule(
        "self.all(a, !isCIDR(a) || self.filter(b, isCIDR(b) && cidr(b).ip().family() == cidr(a).ip().family()).size() == 1)",
        Problem::FamilyTwice.to_string(),
    )
}

fn routing_domain() -> Rule {
    rule(
        format!("self.matches('{NAMESPACE_NAME_PATTERN}')"),
        format!("not a routing domain: use 1 to {ROUTING_DOMAIN_MAX} lower-case letters, digits and '-'"),
    )
}

fn not_in(engine: EngineKind) -> Problem {
    Problem::not_in_engine(engine, bridges(&engine), "gateway", |row| row.has_gateways)
}

/// Rules of the spec, which depend on other fields.
pub(crate) fn rules() -> impl Iterator<Item = Rule> {
    let without = EngineKind::ALL.into_iter().filter(|engine| !engine.traits().has_gateways);
    let engines = without.map(|engine| at(".gateway", with_engine(engine, "!has(self.gateway)"), &not_in(engine)));
    let is_managed = format!("!has(self.gateway) || !{}", is_adopted());
    engines.chain([at(".gateway", is_managed, &Problem::GatewayOfAdopted)])
}

/// The gateway of a network with this engine, whose bridge has this owner. The outer option is none
/// when the spec is wrong.
pub(crate) fn gateway(
    problems: &mut Problems,
    engine: EngineKind,
    ownership: Ownership,
    spec: Option<&GatewaySpec>,
    attachments: &[FixedAttachment],
) -> Option<Option<Gateway>> {
    let Some(spec) = spec else { return Some(None) };
    let before = problems.count();
    problems.add_if(!engine.traits().has_gateways, "spec.gateway", not_in(engine));
    problems.add_if(ownership == Ownership::Adopted, "spec.gateway", Problem::GatewayOfAdopted);
    let addresses = addresses(problems, "spec.gateway.addresses", &spec.addresses);
    let domain = spec.routing_domain.clone();
    let routing_domain =
        domain.and_then(|name| problems.check("spec.gateway.routingDomain", RoutingDomain::try_from(name)));
    let gateway = Gateway { addresses, routing_domain };
    for (index, fixed) in attachments.iter().enumerate() {
        let taken = fixed.addresses().find(|ip| gateway.has(*ip));
        if let Some(ip) = taken {
            problems.add(format!("spec.attachments[{index}].ips"), Problem::IpOfGateway(ip));
        }
    }
    (problems.count() == before).then_some(Some(gateway))
}

/// The addresses of a field, of which there is one of each family at most.
pub(crate) fn addresses(problems: &mut Problems, field: &str, texts: &[String]) -> Vec<InterfaceAddress> {
    let is_too_long = texts.len() > ADDRESSES_MAX;
    problems.add_if(is_too_long, field, Problem::TooMany { count: texts.len(), maximum: ADDRESSES_MAX });
    problems.add_if(texts.is_empty(), field, Problem::WithoutAddress);
    let each = texts.iter().enumerate();
    let addresses: Vec<InterfaceAddress> =
        each.filter_map(|(place, text)| problems.check(&format!("{field}[{place}]"), host_address(text))).collect();
    let is_twice = |one: &InterfaceAddress| {
        addresses.iter().filter(|other| other.ip().is_ipv4() == one.ip().is_ipv4()).count() > 1
    };
    let is_family_twice = !is_too_long && addresses.iter().any(is_twice);
    problems.add_if(is_family_twice, field, Problem::FamilyTwice);
    addresses
}

fn host_address(text: &str) -> Result<InterfaceAddress, Problem> {
    let address: InterfaceAddress = text.parse()?;
    if address.is_host() { Ok(address) } else { Err(Problem::NoHostAddress(address)) }
}
