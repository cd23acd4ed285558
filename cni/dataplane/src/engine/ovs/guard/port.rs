//! Ports whose frames are checked.

use crate::model::port::GuardedPair;
use std::net::IpAddr;
use usnet_crds::MacAddress;
use usnet_openflow::PortNumber;

/// How much of a frame is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AntiSpoofing {
    /// The source MAC address alone.
    Mac,
    /// Addresses of IP, ARP and neighbor discovery as well.
    Address,
}

/// What is known of a port whose frames are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedPort {
    pub number: PortNumber,
    pub anti_spoofing: AntiSpoofing,
    pub mac: MacAddress,
    /// The addresses from IPAM, or those of the lease once there is one.
    pub addresses: Vec<IpAddr>,
    /// With each of their MAC addresses the own addresses are allowed, too: a virtual router
    /// announces itself so.
    pub pairs: Vec<GuardedPair>,
    /// Whether frames may have a VLAN tag.
    pub is_trunk: bool,
    /// Whether the addresses come by DHCP, for which a client needs to send without one.
    pub uses_dhcp: bool,
}
