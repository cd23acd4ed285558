//! Checks specs of users: the same rules as in [`super::spec`], for a CRD without them.

use super::spec::{INTERFACE_MAX, RESERVED_INTERFACES, UserspaceAttachmentSpec};
use crate::network::port::rate_limit;
use crate::problem::{InvalidSpec, Problem, Problems};
use crate::types::limits::IPS_MAX;
use crate::{InterfaceAddress, MacAddress, NetworkName, PodName, RateLimit};
use std::net::IpAddr;

/// An attachment whose spec breaks no rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidAttachment {
    pub pod: PodName,
    pub network: NetworkName,
    pub interface: String,
    pub mac: Option<MacAddress>,
    /// The addresses, with or without prefix lengths.
    pub ips: Vec<String>,
    pub rate_limit: RateLimit,
}

/// Validates a spec, and reports all fields that break a rule.
pub fn validate(spec: &UserspaceAttachmentSpec) -> Result<ValidAttachment, InvalidSpec> {
    let mut problems = Problems::default();
    let pod = problems.check("spec.pod", PodName::try_from(spec.pod.clone()));
    let network = problems.check("spec.network", NetworkName::try_from(spec.network.clone()));
    let interface = Problem::AddedInterface(spec.interface.clone());
    problems.add_if(!is_interface(&spec.interface), "spec.interface", interface);
    let mac = spec.mac.as_ref().map(|mac| problems.check("spec.mac", mac.parse::<MacAddress>()));
    let too_many = Problem::TooMany { count: spec.ips.len(), maximum: IPS_MAX };
    problems.add_if(spec.ips.len() > IPS_MAX, "spec.ips", too_many);
    for (place, ip) in spec.ips.iter().enumerate() {
        problems.add_if(!is_address(ip), &format!("spec.ips[{place}]"), Problem::Ip(ip.clone()));
    }
    let rate = spec.rate_limit.map(|rate| rate_limit(&mut problems, "spec.rateLimit", rate));
    match (pod, network) {
        (Some(pod), Some(network)) if problems.count() == 0 => Ok(ValidAttachment {
            pod,
            network,
            interface: spec.interface.clone(),
            mac: mac.flatten(),
            ips: spec.ips.clone(),
            rate_limit: rate.flatten().unwrap_or_default(),
        }),
        _ => Err(problems.into_invalid()),
    }
}

fn is_interface(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=INTERFACE_MAX).contains(&name.len())
        && name.bytes().all(is_inner)
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && !RESERVED_INTERFACES.contains(&name)
}

fn is_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || text.parse::<InterfaceAddress>().is_ok()
}
