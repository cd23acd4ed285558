//! Frames, as far as flows of policies distinguish them.

use std::net::IpAddr;
use usnet_crds::policy::rule::TransportProtocol;
use usnet_crds::policy::verdict::Connection;
use usnet_openflow::PortNumber;

pub(super) const BROADCAST: [u8; 6] = [0xff; 6];
pub(super) const ICMP: u8 = 1;
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;
pub(super) const ICMPV6: u8 = 58;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) in_port: PortNumber,
    pub(super) dst_mac: [u8; 6],
    pub(super) content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Arp,
    /// A neighbor solicitation.
    Neighbor,
    Packet(Tuple),
    Fragment(Tuple),
    /// An error message about the connection of a packet.
    ErrorAbout(Tuple),
    /// A packet whose connection cannot be told.
    Malformed(Tuple),
    Other(u16),
}

/// By what a connection is known. Without ports both are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tuple {
    pub(super) src: IpAddr,
    pub(super) dst: IpAddr,
    pub(super) protocol: u8,
    pub(super) src_port: u16,
    pub(super) dst_port: u16,
}

impl Tuple {
    pub(super) fn reversed(self) -> Self {
        let Self { src, dst, protocol, src_port, dst_port } = self;
        Self { src: dst, dst: src, protocol, src_port: dst_port, dst_port: src_port }
    }

    /// The connection as policies see it.
    pub(super) fn connection(self) -> Connection {
        let port = match self.protocol {
            TCP => Some((TransportProtocol::Tcp, self.dst_port)),
            UDP => Some((TransportProtocol::Udp, self.dst_port)),
            _ => None,
        };
        Connection { source: self.src, destination: self.dst, port }
    }
}

impl Frame {
    pub(super) fn is_multicast(&self) -> bool {
        self.dst_mac[0] & 1 == 1
    }
}
