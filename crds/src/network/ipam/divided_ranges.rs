//! Whether the ranges of host-local can be divided among the nodes: the rules of `nodePrefix` in
//! Rust.

use super::node_prefix::{Family, HOST_LOCAL, NodePrefix};
use super::spec::{IpamRange, IpamSpec};
use crate::problem::{Problem, Problems};
use ipnet::IpNet;
use std::net::IpAddr;

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
    if let Some(subnet) = first_overlap(&ranges) {
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

/// The sets of ranges as host-local reads them: the only range of the other form is one as well.
pub fn range_sets(ipam: &IpamSpec) -> Vec<Vec<IpamRange>> {
    let only = ipam.subnet.as_ref().map(|subnet| IpamRange {
        subnet: subnet.clone(),
        range_start: ipam.range_start.clone(),
        range_end: ipam.range_end.clone(),
        gateway: ipam.gateway.clone(),
    });
    only.map(|range| vec![range]).into_iter().chain(ipam.ranges.iter().cloned()).collect()
}

/// The first and the last address of a range, as written.
fn ends(range: &IpamRange) -> Option<(IpAddr, IpAddr, IpNet)> {
    let subnet: IpNet = range.subnet.parse().ok()?;
    let end = |text: &Option<String>, default: IpAddr| text.as_ref().map_or(Some(default), |text| text.parse().ok());
    Some((end(&range.range_start, subnet.network())?, end(&range.range_end, subnet.broadcast())?, subnet))
}

/// A subnet of which a range has addresses that an earlier range has too. Ranges of different
/// families do not compare as overlapping.
fn first_overlap(ranges: &[&IpamRange]) -> Option<IpNet> {
    let ends: Vec<_> = ranges.iter().filter_map(|range| ends(range)).collect();
    let is_same_family = |one: IpAddr, other: IpAddr| one.is_ipv4() == other.is_ipv4();
    ends.iter().enumerate().find_map(|(index, (first, last, subnet))| {
        let overlaps = |(start, end, _): &&(IpAddr, IpAddr, IpNet)| {
            is_same_family(*start, *first) && start <= last && first <= end
        };
        ends.iter().take(index).find(overlaps).map(|_| *subnet)
    })
}
