//! The part of the ranges of host-local that belongs to one node. Pure: it follows from the number
//! of the node alone, so that no request is needed when a pod starts, and parts of different nodes
//! have no address in common.
//!
//! Each range is cut at multiples of the prefix, and the parts of a set of ranges are counted
//! through: a range that is appended makes room for more nodes and moves no part.

mod interval;
#[cfg(test)]
mod tests;

use crate::network::ipam::node_prefix::NodePrefix;
use crate::network::ipam::range_sets;
use crate::network::ipam::{IpamRange, IpamSpec};
use interval::Interval;
use ipnet::IpNet;
use serde_json::Value;
use std::net::IpAddr;

/// Why a node has no addresses to assign.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAddresses {
    /// The number of the node is beyond the last part.
    #[error(
        "this node has the number {number}, and spec.ipam.nodePrefix divides {ranges} into {parts} parts, for the nodes 0 to {}: append a range to the set, or use longer prefixes", parts.saturating_sub(1)
    )]
    Exhausted {
        number: u32,
        /// The subnets of the set.
        ranges: String,
        /// How many nodes there can be.
        parts: u128,
    },
    /// Nothing is left of the part.
    #[error(
        "the part of this node (number {number}) of {ranges} has no address left beside the gateway, those of the subnet itself, and those that spec.attachments fixes: use shorter prefixes"
    )]
    Empty { number: u32, ranges: String },
    /// The ranges cannot be read, which the controller rules out.
    #[error("spec.ipam cannot be read: {0}")]
    Invalid(String),
}

/// The configuration with the part of the node with this number, without the addresses in `fixed`,
/// which belong to pods by name. The subnets stay, and with them the masks of ports.
pub fn node_ranges(
    ipam: &Value,
    prefix: &NodePrefix,
    number: u32,
    fixed: impl IntoIterator<Item = IpAddr>,
) -> Result<Value, NoAddresses> {
    let spec: IpamSpec =
        serde_json::from_value(ipam.clone()).map_err(|error| NoAddresses::Invalid(error.to_string()))?;
    let fixed: Vec<IpAddr> = fixed.into_iter().collect();
    let part = |set: Vec<IpamRange>| part_of_set(&set, prefix, number, &fixed);
    let ranges = range_sets(&spec).into_iter().map(part).collect::<Result<Vec<_>, NoAddresses>>()?;
    let own = IpamSpec { ranges, subnet: None, range_start: None, range_end: None, gateway: None, ..spec };
    serde_json::to_value(own).map_err(|error| NoAddresses::Invalid(error.to_string()))
}

fn part_of_set(
    set: &[IpamRange],
    prefix: &NodePrefix,
    number: u32,
    fixed: &[IpAddr],
) -> Result<Vec<IpamRange>, NoAddresses> {
    let mut parts = 0;
    for range in set {
        let (subnet, usable) = usable(range)?;
        let bits = prefix.of(&subnet).ok_or_else(|| NoAddresses::Invalid(format!("no prefix for {subnet}")))?;
        let size = usable.block_size(bits);
        if let Some(block) = usable.block(u128::from(number).saturating_sub(parts), size) {
            return rest_of(block, range, &subnet, fixed)
                .ok_or_else(|| NoAddresses::Empty { number, ranges: names(set) });
        }
        parts += usable.blocks(size);
    }
    Err(NoAddresses::Exhausted { number, ranges: names(set), parts })
}

fn names(set: &[IpamRange]) -> String {
    set.iter().map(|range| range.subnet.as_str()).collect::<Vec<_>>().join(", ")
}

/// The addresses of a range that host-local assigns: not those of the subnet and of broadcasts.
fn usable(range: &IpamRange) -> Result<(IpNet, Interval), NoAddresses> {
    let invalid = |text: &str| NoAddresses::Invalid(format!("{text:?} is not an address"));
    let subnet: IpNet = range.subnet.parse().map_err(|_| invalid(&range.subnet))?;
    let end = |text: &Option<String>| text.as_ref().map(|text| text.parse().map_err(|_| invalid(text))).transpose();
    Ok((subnet, Interval::hosts_of(&subnet).between(end(&range.range_start)?, end(&range.range_end)?)))
}

/// A range for each run of addresses of the block that are free to assign; none if there is no
/// such address.
fn rest_of(block: Interval, range: &IpamRange, subnet: &IpNet, fixed: &[IpAddr]) -> Option<Vec<IpamRange>> {
    // host-local assumes a gateway even where none is configured.
    let gateway =
        range.gateway.as_ref().and_then(|text| text.parse().ok()).or_else(|| Interval::hosts_of(subnet).first());
    let rest = block.without(fixed.iter().copied().chain(gateway));
    let ranges: Vec<IpamRange> = rest
        .into_iter()
        .filter_map(|run| {
            let (first, last) = (run.first()?.to_string(), run.last()?.to_string());
            Some(IpamRange { range_start: Some(first), range_end: Some(last), ..range.clone() })
        })
        .collect();
    (!ranges.is_empty()).then_some(ranges)
}
