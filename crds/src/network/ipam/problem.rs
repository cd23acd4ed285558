//! What host-local and static refuse, or would silently ignore.

use crate::InterfaceAddress;
use ipnet::IpNet;
use std::net::IpAddr;

/// What is wrong with an IPAM configuration, or with an address that it is for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpamProblem {
    #[error("host-local has no range: write its subnet in ranges, or in subnet where there is only one")]
    NoRange,
    #[error("a set of ranges is empty: write a range in it, or remove it")]
    EmptyRangeSet,
    #[error("a set has ranges of IPv4 and of IPv6, and a port gets one address of each set: use a set for each")]
    MixedRangeSet,
    #[error("{0} is too small: host-local has addresses to give in prefixes up to /30, or /126 of IPv6")]
    SubnetTooSmall(IpNet),
    #[error("rangeStart {start} is after rangeEnd {end}: exchange them")]
    RangeReversed { start: IpAddr, end: IpAddr },
    #[error("a range of {0} overlaps with another one: host-local refuses them")]
    RangesOverlap(IpNet),
    #[error("{plugin} has no such key, and would ignore it: {advice}")]
    Key {
        plugin: String,
        /// What to write instead.
        advice: String,
    },
    #[error(
        "static has no address: write it here or in spec.attachments, or leave spec.ipam out where pods request theirs"
    )]
    NoStaticAddress,
    #[error("{0} is not the address of a host, but of the subnet, of a broadcast, of a group or of the host itself")]
    NotAssignable(InterfaceAddress),
    #[error("{0} is in no subnet of spec.ipam: use an address of one, or add its subnet there")]
    OutsideOfRanges(IpAddr),
}
