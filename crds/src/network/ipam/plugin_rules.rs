//! The rules of host-local and static themselves, in Rust: what breaks one of them is refused when
//! it is written, and not at the start of each pod. What these plugins accept is accepted, with two
//! exceptions: keys that they silently ignore, and gateways that no pod can reach.

use super::node_prefix::HOST_LOCAL;
use super::plugin_cel::STATIC;
use super::problem::IpamProblem;
use super::ranges::{Ends, first_overlap, range_sets};
use super::spec::{IpamRange, IpamSpec};
use crate::network::AttachmentSpec;
use crate::problem::Problems;
use crate::{InterfaceAddress, PodNames};
use ipnet::IpNet;
use std::net::IpAddr;

const RANGES: &str = "spec.ipam.ranges";

/// The keys that both plugins read, beside those that are typed.
const KEYS: [&str; 2] = ["name", "routes"];
/// The keys that host-local reads.
const HOST_LOCAL_KEYS: [&str; 7] = ["ranges", "subnet", "rangeStart", "rangeEnd", "gateway", "dataDir", "resolvConf"];
/// The keys that static reads.
const STATIC_KEYS: [&str; 2] = ["addresses", "dns"];

/// The rules that need nothing but the configuration. Other rules report what is not an address or
/// subnet.
pub(super) fn check(problems: &mut Problems, ipam: &IpamSpec) {
    let keys: &[&str] = match ipam.plugin.as_str() {
        HOST_LOCAL => &HOST_LOCAL_KEYS,
        STATIC => &STATIC_KEYS,
        _ => return,
    };
    unknown_keys(problems, ipam, keys);
    if ipam.plugin == HOST_LOCAL {
        host_local(problems, ipam);
    }
}

/// Go's JSON reads keys in any case.
fn unknown_keys(problems: &mut Problems, ipam: &IpamSpec, known: &[&str]) {
    let is_read = |key: &str| known.iter().chain(&KEYS).any(|known| known.eq_ignore_ascii_case(key));
    for key in ipam.other.keys().filter(|key| !is_read(key)) {
        let problem = IpamProblem::Key { plugin: ipam.plugin.clone(), advice: advice(key, known) };
        // What a user writes as a key may be long.
        problems.add(format!("spec.ipam.{}", key.chars().take(40).collect::<String>()), problem.into());
    }
}

fn advice(key: &str, known: &[&str]) -> String {
    let meant = match key.to_ascii_lowercase().as_str() {
        "startrange" | "range_start" | "start" | "startip" => Some("rangeStart"),
        "endrange" | "range_end" | "end" | "endip" => Some("rangeEnd"),
        "range" | "network" | "cidr" | "iprange" | "ipranges" => Some("ranges"),
        "gw" => Some("gateway"),
        _ => None,
    };
    let meant = meant.filter(|meant| known.contains(meant));
    meant.map_or_else(|| format!("its keys are {}", [known, &KEYS].concat().join(", ")), |it| format!("use {it}"))
}

fn host_local(problems: &mut Problems, ipam: &IpamSpec) {
    let sets = range_sets(ipam);
    let has_other_spelling = ["ranges", "subnet"].iter().any(|known| has_key(ipam, known));
    if ipam.node_prefix.is_none() && !has_other_spelling {
        problems.add_if(sets.is_empty(), RANGES, IpamProblem::NoRange.into());
    }
    problems.add_if(ipam.ranges.iter().any(Vec::is_empty), RANGES, IpamProblem::EmptyRangeSet.into());
    problems.add_if(sets.iter().any(|set| !is_of_one_family(set)), RANGES, IpamProblem::MixedRangeSet.into());
    let parsed: Vec<Vec<Ends>> = sets.iter().map(|set| set.iter().filter_map(Ends::of).collect()).collect();
    let all = || parsed.iter().flatten();
    if let Some(small) = all().find(|ends| is_small(&ends.subnet)) {
        problems.add(RANGES, IpamProblem::SubnetTooSmall(small.subnet).into());
    }
    if let Some(reversed) = all().find(|ends| ends.is_written_reversed) {
        problems.add(RANGES, IpamProblem::RangeReversed { start: reversed.first, end: reversed.last }.into());
        return;
    }
    // Another rule says that of divided ranges.
    if ipam.node_prefix.is_none()
        && let Some(subnet) = first_overlap(&all().collect::<Vec<_>>())
    {
        problems.add(RANGES, IpamProblem::RangesOverlap(subnet).into());
    }
}

fn has_key(ipam: &IpamSpec, known: &str) -> bool {
    ipam.other.keys().any(|key| key.eq_ignore_ascii_case(known))
}

fn is_of_one_family(set: &[IpamRange]) -> bool {
    let mut families = set.iter().filter_map(|range| Some(range.subnet.parse::<IpNet>().ok()?.addr().is_ipv4()));
    let first = families.next();
    families.all(|family| Some(family) == first)
}

fn is_small(subnet: &IpNet) -> bool {
    subnet.prefix_len() > subnet.max_prefix_len() - 2
}

/// Addresses of pods that the network fixes must be addresses of hosts, and of a subnet of
/// host-local, whose gateway and routes the pod gets.
pub(in crate::network) fn check_fixed(
    problems: &mut Problems,
    ipam: Option<&IpamSpec>,
    attachments: &[AttachmentSpec],
) {
    let subnets = ipam.filter(|ipam| ipam.plugin == HOST_LOCAL).map(range_sets).unwrap_or_default();
    let subnets: Vec<IpNet> = subnets.iter().flatten().filter_map(|range| range.subnet.parse().ok()).collect();
    for (index, attachment) in attachments.iter().enumerate() {
        for (place, text) in attachment.ips.iter().enumerate() {
            let Ok(first) = text.parse::<InterfaceAddress>() else { continue };
            let field = format!("spec.attachments[{index}].ips[{place}]");
            // Subnets have no gaps: what holds for both ends of a range holds for what is between.
            let pods = attachment.pod.parse::<PodNames>().map_or(0, |pods| pods.last_place());
            let last = first.after(pods).filter(|last| *last != first);
            let ends = || [first].into_iter().chain(last);
            if let Some(address) = ends().find(|address| !address.is_assignable()) {
                problems.add(field, IpamProblem::NotAssignable(address).into());
            } else if let Some(address) = ends().find(|address| is_outside(&subnets, address.ip())) {
                problems.add(field, IpamProblem::OutsideOfRanges(address.ip()).into());
            }
        }
    }
    let has_fixed = attachments.iter().any(|attachment| !attachment.ips.is_empty());
    if let Some(ipam) = ipam.filter(|ipam| ipam.plugin == STATIC) {
        let has_none = ipam.addresses.is_empty() && !has_key(ipam, "addresses") && !has_fixed;
        problems.add_if(has_none, "spec.ipam.addresses", IpamProblem::NoStaticAddress.into());
    }
}

fn is_outside(subnets: &[IpNet], address: IpAddr) -> bool {
    !subnets.is_empty() && !subnets.iter().any(|subnet| subnet.contains(&address))
}

/// Whether a pod reaches a gateway: it is in its subnet, or a link-local address (IPv6).
pub(super) fn is_reachable(gateway: IpAddr, subnet: &IpNet) -> bool {
    let is_of_link = match gateway {
        IpAddr::V4(_) => false,
        IpAddr::V6(gateway) => gateway.is_unicast_link_local() && matches!(subnet, IpNet::V6(_)),
    };
    subnet.contains(&gateway) || is_of_link
}
