//! What is wrong with a reservation, or with what a network allows them.

use crate::types::limits::{RESERVATION_PODS_MAX, RESERVATION_TRUNKS_MAX};
use crate::{KilobitsPerSecond, MacAddress, PodNames, VlanRanges, VlanTag};
use ipnet::IpNet;
use std::net::IpAddr;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReservationProblem {
    #[error("{0} are too many pods: use at most {RESERVATION_PODS_MAX}, or several reservations")]
    Pods(PodNames),
    #[error("too many VLANs: use at most {RESERVATION_TRUNKS_MAX}")]
    Trunks,
    #[error("the network lets reservations have no addresses: leave ips out")]
    NoAddresses,
    #[error("{address} is not one of {}, which the network lets reservations have: use one of these", list(.subnets))]
    Address { address: IpAddr, subnets: Vec<IpNet> },
    #[error("the network lets reservations have no MAC address: leave mac out")]
    NoMac,
    #[error(
        "{0} is not locally administered, and the network lets reservations have no other: use one whose second digit is 2, 6, a or e"
    )]
    GlobalMac(MacAddress),
    #[error("the network lets reservations have no VLAN: leave vlan out")]
    NoVlan,
    #[error("VLAN {vlan} is not one of {vlans}, which the network lets reservations have: use one of these")]
    Vlan { vlan: VlanTag, vlans: VlanRanges },
    #[error("the network lets reservations have at most {0}: use that, or less")]
    Rate(KilobitsPerSecond),
    /// VLANs separate the networks of an adopted bridge, and one could get those of another.
    #[error("reservations have no VLANs on an adopted bridge: remove them, or use a bridge with ownership Managed")]
    VlansOfAdopted,
}

fn list(subnets: &[IpNet]) -> String {
    subnets.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
