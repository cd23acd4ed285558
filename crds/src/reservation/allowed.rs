//! What a network allows reservations: what users write ([`ReservationsSpec`]), its rules in CEL
//! and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::problem::ReservationProblem;
use crate::cel::{at, is, rule};
use crate::network::port::rate_limit;
use crate::network::{RateLimitSpec, UserspaceNetworkSpec};
use crate::problem::{Problem, Problems};
use crate::types::limits::{CIDR_MAX, RESERVED_SUBNETS_MAX};
use crate::types::vlan_ranges::{VLAN_RANGE_MAX, VLAN_RANGE_PATTERN, VLAN_RANGES_MAX};
use crate::uplink::spec::vlans;
use crate::{Ownership, RateLimit, VlanRange, VlanRanges};
use ipnet::IpNet;
use kube::KubeSchema;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What reservations may fix.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct ReservationsSpec {
    /// The subnets whose addresses reservations may have, at most 16; by default they have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = RESERVED_SUBNETS_MAX), inner(length(max = CIDR_MAX)))]
    #[x_kube(merge_strategy = ListMerge::Atomic, validation = subnets())]
    pub ips: Vec<String>,
    /// The MAC addresses that reservations may have: None, LocallyAdministered (the second digit is
    /// 2, 6, a or e) or Any.
    #[serde(default)]
    pub macs: ReservedMacs,
    /// The VLANs that reservations may have, as ranges such as 100-199, or single ones; by default
    /// they have none. Not with an adopted bridge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = VLAN_RANGES_MAX),
        inner(length(max = VLAN_RANGE_MAX), regex(pattern = VLAN_RANGE_PATTERN))
    )]
    #[x_kube(merge_strategy = ListMerge::Atomic, validation = vlans())]
    pub vlans: Vec<String>,
    /// The highest rate limits that reservations may have; by default those of `port.rateLimit`,
    /// which they may only lower.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate_limit: Option<RateLimitSpec>,
}

/// The MAC addresses that reservations may have.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReservedMacs {
    /// Reservations have no MAC address.
    #[default]
    None,
    /// Those that no manufacturer assigns.
    LocallyAdministered,
    /// Every one.
    Any,
}

/// What reservations may fix, validated, and the rules of their network.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowed {
    pub(super) subnets: Vec<IpNet>,
    pub(super) macs: ReservedMacs,
    pub(super) vlans: VlanRanges,
    pub(super) rate: RateLimit,
    /// The network as it was written, without `attachments`: their rules are those of reservations.
    pub(super) network: Box<(String, UserspaceNetworkSpec)>,
}

fn subnets() -> Rule {
    rule("self.all(subnet, isCIDR(subnet))", "not a subnet: use CIDR notation, such as 10.56.217.128/25")
}

/// A rule of the spec of a network.
pub(crate) fn vlans_of_adopted() -> Rule {
    let path = ".reservations.vlans";
    let has_none = "!has(self.reservations) || !has(self.reservations.vlans) || size(self.reservations.vlans) == 0";
    let problem = Problem::from(ReservationProblem::VlansOfAdopted);
    at(path, format!("{has_none} || !{}", is(".bridge.ownership", "Adopted")), &problem)
}

/// The outer option is none when what the network allows is wrong.
pub(crate) fn allowed(problems: &mut Problems, name: &str, network: &UserspaceNetworkSpec) -> Option<Option<Allowed>> {
    let Some(spec) = &network.reservations else { return Some(None) };
    let before = problems.count();
    for (field, count, maximum) in
        [("ips", spec.ips.len(), RESERVED_SUBNETS_MAX), ("vlans", spec.vlans.len(), VLAN_RANGES_MAX)]
    {
        let field = format!("spec.reservations.{field}");
        problems.add_if(count > maximum, &field, Problem::TooMany { count, maximum });
    }
    let subnet = |(place, text): (usize, &String)| {
        let subnet = text.parse::<IpNet>().map_err(|_| Problem::Subnet(text.clone()));
        problems.check(&format!("spec.reservations.ips[{place}]"), subnet)
    };
    let subnets = spec.ips.iter().enumerate().filter_map(subnet).map(|subnet| subnet.trunc()).collect();
    let vlan = |text: &String| problems.check("spec.reservations.vlans", text.parse::<VlanRange>());
    let vlans: VlanRanges = spec.vlans.iter().filter_map(vlan).collect();
    let is_adopted = network.bridge.ownership == Ownership::Adopted;
    let of_adopted = Problem::from(ReservationProblem::VlansOfAdopted);
    problems.add_if(is_adopted && !spec.vlans.is_empty(), "spec.reservations.vlans", of_adopted);
    let rate = spec.max_rate_limit.unwrap_or(network.port.rate_limit);
    let rate = rate_limit(problems, "spec.reservations.maxRateLimit", rate)?;
    // Whether a pod of a network with the plugin `static` has an address is no question here.
    let ipam = network.ipam.clone().filter(|ipam| ipam.plugin != "static");
    let rules = UserspaceNetworkSpec { attachments: Vec::new(), ipam, reservations: None, ..network.clone() };
    let network = Box::new((name.to_owned(), rules));
    (problems.count() == before).then_some(Some(Allowed { subnets, macs: spec.macs, vlans, rate, network }))
}
