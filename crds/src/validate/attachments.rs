//! Settings that are fixed for pods by name. No two pods may have the same address.

use super::port::{rate_limit, vlan};
use super::problem::{Problem, Problems};
use crate::network::{ATTACHMENTS_MAX, AttachmentSpec, IPS_MAX};
use crate::{Engine, FixedAttachment, InterfaceAddress, MacAddress, NamespaceName, PodName};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// The attachments, sorted by namespace and pod, without invalid ones.
pub(super) fn attachments(problems: &mut Problems, engine: Engine, specs: &[AttachmentSpec]) -> Vec<FixedAttachment> {
    let too_many = Problem::TooMany { count: specs.len(), maximum: ATTACHMENTS_MAX };
    problems.add_if(specs.len() > ATTACHMENTS_MAX, "spec.attachments", too_many);
    let mut used = UsedAddresses::default();
    let mut fixed = BTreeMap::new();
    for (index, spec) in specs.iter().enumerate() {
        let field = format!("spec.attachments[{index}]");
        let Some(one) = attachment(problems, engine, &field, spec) else { continue };
        used.reserve(problems, &field, &one);
        if let Some(other) = fixed.insert((one.namespace.clone(), one.pod.clone()), one) {
            problems.add(field, Problem::AttachmentTwice { namespace: other.namespace, pod: other.pod });
        }
    }
    fixed.into_values().collect()
}

fn attachment(problems: &mut Problems, engine: Engine, field: &str, spec: &AttachmentSpec) -> Option<FixedAttachment> {
    let namespace = problems.check(&format!("{field}.namespace"), NamespaceName::try_from(spec.namespace.clone()));
    let pod = problems.check(&format!("{field}.pod"), PodName::try_from(spec.pod.clone()));
    let too_many = Problem::TooMany { count: spec.ips.len(), maximum: IPS_MAX };
    problems.add_if(spec.ips.len() > IPS_MAX, &format!("{field}.ips"), too_many);
    let ips = spec.ips.iter().enumerate();
    let ips = ips.filter_map(|(place, ip)| problems.check(&format!("{field}.ips[{place}]"), ip.parse())).collect();
    let mac = spec.mac.as_ref().map(|mac| problems.check(&format!("{field}.mac"), mac.parse()));
    let vlan = vlan(problems, engine, &format!("{field}.vlan"), spec.vlan.as_ref());
    let rate = spec.rate_limit.map(|rate| rate_limit(problems, &format!("{field}.rateLimit"), rate));
    Some(FixedAttachment {
        namespace: namespace?,
        pod: pod?,
        ips,
        mac: mac.flatten(),
        vlan: vlan?,
        rate_limit: rate.flatten(),
    })
}

/// Addresses in use by earlier attachments.
#[derive(Default)]
struct UsedAddresses {
    ips: BTreeSet<IpAddr>,
    macs: BTreeSet<MacAddress>,
}

impl UsedAddresses {
    fn reserve(&mut self, problems: &mut Problems, field: &str, one: &FixedAttachment) {
        for ip in one.ips.iter().copied().map(InterfaceAddress::ip) {
            problems.add_if(!self.ips.insert(ip), &format!("{field}.ips"), Problem::IpTwice(ip));
        }
        if let Some(mac) = one.mac {
            problems.add_if(!self.macs.insert(mac), &format!("{field}.mac"), Problem::MacTwice(mac));
        }
    }
}
