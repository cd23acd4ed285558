//! Whether the ranges of host-local can be divided among the nodes: the rules of `nodePrefix` in
//! Rust.

use super::node_prefix::{Family, HOST_LOCAL, NodePrefix};
use super::ranges::{Ends, first_overlap, range_sets};
use super::spec::{IpamRange, IpamSpec};
use crate::problem::{Problem, Problems};
use ipnet::IpNet;

/// How the ranges are divided; none when they are not, or not validly.
pub(super) fn node_prefix(problems: &mut Problems, ipam: &IpamSpec) -> Option<NodePrefix> {
    let spec = ipam.node_prefix.as_ref()?;
    let is_host_local = ipam.plugin == HOST_LOCAL;
    problems.add_if(!is_host_local, FIELD, Problem::NodePrefixPlugin);
    let ipv4 = spec.ipv4.map(|bits| problems.check("spec.ipam.nodePrefix.ipv4", bits.try_into()));
    let ipv6 = spec.ipv6.map(|bits| problems.check("spec.ipam.nodePrefix.ipv6", bits.try_into()));
    if !is_host_local || ipv4 == Some(None) || ipv6 == Some(None) {
        return None;
    }
    let prefix = NodePrefix { ipv4: ipv4.flatten(), ipv6: ipv6.flatten() };
    let sets = range_sets(ipam);
    let ranges: Vec<&IpamRange> = sets.iter().flatten().collect();
    problems.add_if(ranges.is_empty(), FIELD, Problem::NodePrefixWithoutRange);
    // Another rule rejects the others.
    let subnets = ranges.iter().filter_map(|range| range.subnet.parse::<IpNet>().ok());
    let misfit = subnets.into_iter().find_map(|subnet| misfit(&prefix, subnet));
    if let Some(problem) = misfit {
        problems.add(FIELD, problem);
    }
    let ends: Vec<Ends> = ranges.iter().filter_map(|range| Ends::of(range)).collect();
    if let Some(subnet) = first_overlap(&ends.iter().collect::<Vec<_>>()) {
        problems.add(FIELD, Problem::RangesOverlap(subnet));
    }
    Some(prefix)
}

const FIELD: &str = "spec.ipam.nodePrefix";

fn misfit(prefix: &NodePrefix, subnet: IpNet) -> Option<Problem> {
    let family = Family::of(&subnet).number();
    match prefix.of(&subnet) {
        None => Some(Problem::NodePrefixMissing(family)),
        Some(prefix) if prefix < subnet.prefix_len() => Some(Problem::NodePrefixShort { family, prefix, subnet }),
        Some(_) => None,
    }
}
