//! What host-local and static refuse, or would silently ignore.

use crate::InterfaceAddress;
use ipnet::IpNet;
use std::net::IpAddr;

/// What is wrong with an IPAM configuration, or with an address that it is for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpamProblem {
    /// host-local has nothing to give.
    #[error("host-local has no range: write its subnet in ranges, or in subnet where there is only one")]
    NoRange,
    /// A set of host-local without ranges.
    #[error("a set of ranges is empty: write a range in it, or remove it")]
    EmptyRangeSet,
    /// A set of host-local with ranges of both families.
    #[error("a set has ranges of IPv4 and of IPv6, and a port gets one address of each set: use a set for each")]
    MixedRangeSet,
    /// A subnet in which host-local has no address to give.
    #[error("{0} is too small: host-local has addresses to give in prefixes up to /30, or /126 of IPv6")]
    SubnetTooSmall(IpNet),
    /// A range whose end is before its start.
    #[error("rangeStart {start} is after rangeEnd {end}: exchange them")]
    RangeReversed {
        /// Its first address.
        start: IpAddr,
        /// Its last address.
        end: IpAddr,
    },
    /// Two ranges of host-local have an address.
    #[error("a range of {0} overlaps with another one: host-local refuses them")]
    RangesOverlap(IpNet),
    /// A key that an IPAM plugin ignores.
    #[error("{plugin} has no such key, and would ignore it: {advice}")]
    Key {
        /// The plugin.
        plugin: String,
        /// What to write instead.
        advice: String,
    },
    /// static has nothing to assign.
    #[error(
        "static has no address: write it here or in spec.attachments, or leave spec.ipam out where pods request theirs"
    )]
    NoStaticAddress,
    /// An address that no interface can have.
    #[error("{0} is no address of a host: it is the subnet's own, a broadcast, a group's or the host's own")]
    NotAssignable(InterfaceAddress),
    /// A fixed address in no subnet of host-local.
    #[error("{0} is in no subnet of spec.ipam: use an address of one, or add its subnet there")]
    OutsideOfRanges(IpAddr),
}
