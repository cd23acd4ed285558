//! Checks specs of users: the same rules as in [`super::spec`], for a CRD without them. Rules that
//! depend on the network are in [`super::allowed`].

use super::problem::ReservationProblem;
use super::spec::UserspaceReservationSpec;
use crate::network::AttachmentSpec;
use crate::network::port::rate_limit;
use crate::problem::{InvalidSpec, Problem, Problems};
use crate::types::limits::{IPS_MAX, RESERVATION_PODS_MAX, RESERVATION_TRUNKS_MAX};
use crate::{InterfaceAddress, MacAddress, NetworkName, PodNames};

/// A reservation whose spec breaks no rule.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidReservation {
    pub network: NetworkName,
    pub pods: PodNames,
    /// What it fixes, as an entry of a network without its namespace.
    pub(super) attachment: AttachmentSpec,
}

/// Validates a spec, and reports all fields that break a rule.
pub fn validate(spec: &UserspaceReservationSpec) -> Result<ValidReservation, InvalidSpec> {
    let mut problems = Problems::default();
    let network = problems.check("spec.network", NetworkName::try_from(spec.network.clone()));
    let pods = problems.check("spec.pod", spec.pod.parse::<PodNames>());
    if let Some(pods) = pods.as_ref().filter(|pods| pods.last_place() >= RESERVATION_PODS_MAX) {
        problems.add("spec.pod", ReservationProblem::Pods(pods.clone()).into());
    }
    let too_many = Problem::TooMany { count: spec.ips.len(), maximum: IPS_MAX };
    problems.add_if(spec.ips.len() > IPS_MAX, "spec.ips", too_many);
    for (place, ip) in spec.ips.iter().enumerate() {
        problems.check(&format!("spec.ips[{place}]"), ip.parse::<InterfaceAddress>());
    }
    if let Some(mac) = &spec.mac {
        problems.check("spec.mac", mac.parse::<MacAddress>());
    }
    let has_many_trunks = spec.vlan.as_ref().is_some_and(|vlan| vlan.trunks.len() > RESERVATION_TRUNKS_MAX);
    problems.add_if(has_many_trunks, "spec.vlan.trunks", ReservationProblem::Trunks.into());
    if let Some(rate) = spec.rate_limit {
        rate_limit(&mut problems, "spec.rateLimit", rate);
    }
    match (network, pods) {
        (Some(network), Some(pods)) if problems.count() == 0 => Ok(ValidReservation {
            network,
            pods,
            attachment: AttachmentSpec {
                namespace: String::new(),
                pod: spec.pod.clone(),
                ips: spec.ips.clone(),
                mac: spec.mac.clone(),
                allowed_address_pairs: Vec::new(),
                vlan: spec.vlan.clone(),
                rate_limit: spec.rate_limit,
            },
        }),
        _ => Err(problems.into_invalid()),
    }
}
