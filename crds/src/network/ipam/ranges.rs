//! The ranges of host-local, as it reads them.

use super::spec::{IpamRange, IpamSpec};
use ipnet::IpNet;
use serde_json::Value;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

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

/// A range of addresses that host-local assigns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssignedRange {
    pub first: IpAddr,
    pub last: IpAddr,
    pub subnet: IpNet,
    /// The gateway, which is never assigned.
    pub gateway: IpAddr,
}

impl AssignedRange {
    pub fn contains(&self, address: IpAddr) -> bool {
        self.subnet.contains(&address) && self.first <= address && address <= self.last
    }
}

impl fmt::Display for AssignedRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} to {}", self.first, self.last)
    }
}

/// The ranges of a configuration of host-local; none of one that cannot be read.
pub fn assigned_ranges(ipam: &Value) -> Vec<AssignedRange> {
    let spec: IpamSpec = serde_json::from_value(ipam.clone()).unwrap_or_default();
    let range = |range: &IpamRange| {
        let Ends { first, last, subnet, .. } = Ends::of(range)?;
        let gateway = range.gateway.as_ref().and_then(|text| text.parse().ok());
        Some(AssignedRange { first, last, subnet, gateway: gateway.unwrap_or_else(|| next(subnet.network())) })
    };
    range_sets(&spec).iter().flatten().filter_map(range).collect()
}

/// The first and the last address of a range as host-local fills them in.
pub(super) struct Ends {
    pub(super) first: IpAddr,
    pub(super) last: IpAddr,
    pub(super) subnet: IpNet,
    /// Whether both are written, and the last is before the first.
    pub(super) is_written_reversed: bool,
}

impl Ends {
    pub(super) fn of(range: &IpamRange) -> Option<Self> {
        let subnet: IpNet = range.subnet.parse().ok()?;
        let written = |text: &Option<String>| text.as_ref().map(|text| text.parse::<IpAddr>()).transpose().ok();
        let (start, end) = (written(&range.range_start)?, written(&range.range_end)?);
        let is_written_reversed = start.zip(end).is_some_and(|(start, end)| start > end);
        let first = start.unwrap_or_else(|| next(subnet.network()));
        Some(Self { first, last: end.unwrap_or_else(|| last_of(&subnet)), subnet, is_written_reversed })
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.first.is_ipv4() == other.first.is_ipv4() && self.first <= other.last && other.first <= self.last
    }
}

fn next(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits().saturating_add(1)).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits().saturating_add(1)).into(),
    }
}

fn last_of(subnet: &IpNet) -> IpAddr {
    match subnet.broadcast() {
        IpAddr::V4(broadcast) => Ipv4Addr::from_bits(broadcast.to_bits().saturating_sub(1)).into(),
        last @ IpAddr::V6(_) => last,
    }
}

/// The subnet of a range that has addresses of an earlier one. Ranges of different families do not
/// overlap.
pub(super) fn first_overlap(ranges: &[&Ends]) -> Option<IpNet> {
    let overlaps = |(index, range): (usize, &&Ends)| {
        ranges.iter().take(index).any(|earlier| earlier.overlaps(range)).then_some(range.subnet)
    };
    ranges.iter().enumerate().find_map(overlaps)
}
