//! What a network allows reservations: what users write ([`ReservationsSpec`]), its rules in CEL
//! and in Rust, and a reservation compared with it ([`Allowed::fixed`]).
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::problem::ReservationProblem;
use super::validate::ValidReservation;
use crate::cel::{at, is, rule};
use crate::network::port::rate_limit;
use crate::network::validate::validate;
use crate::network::{AttachmentSpec, RateLimitSpec, UserspaceNetwork, UserspaceNetworkSpec};
use crate::problem::{InvalidSpec, Problem, Problems};
use crate::types::limits::{CIDR_MAX, RESERVED_SUBNETS_MAX};
use crate::types::vlan_ranges::{VLAN_RANGE_MAX, VLAN_RANGE_PATTERN, VLAN_RANGES_MAX};
use crate::uplink::spec::vlans;
use crate::{
    FixedAttachment, InterfaceAddress, KilobitsPerSecond, MacAddress, Ownership, RateLimit, VlanRange, VlanRanges,
};
use ipnet::IpNet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
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
    subnets: Vec<IpNet>,
    macs: ReservedMacs,
    vlans: VlanRanges,
    rate: RateLimit,
    /// The network as it was written, without `attachments`: their rules are those of reservations.
    network: Box<(String, UserspaceNetworkSpec)>,
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

impl Allowed {
    /// What the reservation of this namespace fixes, as an entry of `attachments` of the network.
    ///
    /// # Errors
    /// The network does not allow it, or it breaks a rule of these entries.
    pub fn fixed(&self, namespace: &str, reservation: &ValidReservation) -> Result<FixedAttachment, InvalidSpec> {
        let mut problems = Problems::default();
        self.addresses(&mut problems, reservation);
        self.settings(&mut problems, reservation);
        let (name, rules) = &*self.network;
        let attachments = vec![AttachmentSpec { namespace: namespace.to_owned(), ..reservation.attachment.clone() }];
        let network = UserspaceNetwork {
            metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
            spec: UserspaceNetworkSpec { attachments, ..rules.clone() },
            status: None,
        };
        let fixed = validate(&network).map(|valid| valid.attachments.into_iter().next());
        for invalid in fixed.as_ref().err().into_iter().flat_map(|invalid| &invalid.problems) {
            let field = invalid.field.replace("spec.attachments[0]", "spec").replace("spec.attachments", "spec");
            problems.add(field, invalid.problem.clone());
        }
        match fixed {
            Ok(Some(fixed)) if problems.count() == 0 => Ok(fixed),
            _ => Err(problems.into_invalid()),
        }
    }

    fn addresses(&self, problems: &mut Problems, reservation: &ValidReservation) {
        let last_place = reservation.pods.last_place();
        for (place, text) in reservation.attachment.ips.iter().enumerate() {
            let Ok(first) = text.parse::<InterfaceAddress>() else { continue };
            let field = format!("spec.ips[{place}]");
            if self.subnets.is_empty() {
                problems.add(field, ReservationProblem::NoAddresses.into());
                continue;
            }
            // A subnet has no gaps: it has a range if it has both ends.
            let ends = [first.ip(), first.after(last_place).unwrap_or(first).ip()];
            if !self.subnets.iter().any(|subnet| ends.iter().all(|ip| subnet.contains(ip))) {
                let is_outside = |ip: &&std::net::IpAddr| !self.subnets.iter().any(|subnet| subnet.contains(*ip));
                let address = ends.iter().find(is_outside).copied().unwrap_or(first.ip());
                problems.add(field, ReservationProblem::Address { address, subnets: self.subnets.clone() }.into());
            }
        }
    }

    fn settings(&self, problems: &mut Problems, reservation: &ValidReservation) {
        let AttachmentSpec { mac, vlan, rate_limit: rate, .. } = &reservation.attachment;
        if let Some(mac) = mac.as_ref().and_then(|mac| mac.parse::<MacAddress>().ok()) {
            match self.macs {
                ReservedMacs::None => problems.add("spec.mac", ReservationProblem::NoMac.into()),
                ReservedMacs::LocallyAdministered if !mac.is_locally_administered() => {
                    problems.add("spec.mac", ReservationProblem::GlobalMac(mac).into());
                }
                ReservedMacs::LocallyAdministered | ReservedMacs::Any => {}
            }
        }
        if let Some(vlan) = vlan {
            problems.add_if(self.vlans.is_empty(), "spec.vlan", ReservationProblem::NoVlan.into());
            let tags = vlan.tag.iter().chain(&vlan.trunks).filter_map(|tag| (*tag).try_into().ok());
            if let Some(vlan) = tags.into_iter().find(|tag| !self.vlans.is_empty() && !self.vlans.contains(*tag)) {
                problems.add("spec.vlan", ReservationProblem::Vlan { vlan, vlans: self.vlans.clone() }.into());
            }
        }
        if let Some(rate) = rate {
            self.rate(problems, "ingressKbps", rate.ingress_kbps, self.rate.ingress_kbps);
            self.rate(problems, "egressKbps", rate.egress_kbps, self.rate.egress_kbps);
        }
    }

    /// No limit is more than any.
    fn rate(&self, problems: &mut Problems, field: &str, kbps: i64, most: Option<KilobitsPerSecond>) {
        if let Some(most) = most.filter(|most| kbps == 0 || kbps > i64::from(*most)) {
            problems.add(format!("spec.rateLimit.{field}"), ReservationProblem::Rate(most).into());
        }
    }
}
