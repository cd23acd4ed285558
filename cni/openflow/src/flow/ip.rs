//! Matches on IP and what it carries.

use super::oxm::{Field, NiciraField, Oxm};
use super::{Masked, Original};
use std::net::{Ipv4Addr, Ipv6Addr};

const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;

/// Fields of IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ipv4 {
    pub src: Option<Masked<Ipv4Addr>>,
    pub dst: Option<Masked<Ipv4Addr>>,
    pub fragments: Option<Fragments>,
    pub payload: IpPayload,
    /// The connection's first packet.
    pub original: Original<Ipv4Addr>,
}

/// Fields of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ipv6 {
    pub src: Option<Masked<Ipv6Addr>>,
    pub dst: Option<Masked<Ipv6Addr>>,
    pub fragments: Option<Fragments>,
    pub payload: Ipv6Payload,
    /// The connection's first packet.
    pub original: Original<Ipv6Addr>,
}

/// Whether a packet is a fragment (`ip_frag` of Nicira).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fragments {
    No,
    Any,
    First,
    Later,
    NotLater,
}

/// What a packet of either version carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IpPayload {
    #[default]
    Any,
    Protocol(u8),
    Tcp(Ports),
    Udp(Ports),
}

/// What a packet of IPv6 carries behind its extension headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ipv6Payload {
    Ip(IpPayload),
    Icmp(Icmpv6),
}

impl Default for Ipv6Payload {
    fn default() -> Self {
        Self::Ip(IpPayload::Any)
    }
}

/// Ports of TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ports {
    pub src: Option<Masked<u16>>,
    pub dst: Option<Masked<u16>>,
}

/// A message of ICMPv6. A link-layer address of zeros is matched by messages without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmpv6 {
    Any,
    Type(u8),
    NeighborSolicitation { target: Option<Masked<Ipv6Addr>>, source_mac: Option<Masked<[u8; 6]>> },
    NeighborAdvertisement { target: Option<Masked<Ipv6Addr>>, target_mac: Option<Masked<[u8; 6]>> },
}

impl Ipv4 {
    pub(super) fn encode(&self, oxm: &mut Oxm) {
        oxm.push_masked(Field::Ipv4Src, self.src);
        oxm.push_masked(Field::Ipv4Dst, self.dst);
        self.fragments.into_iter().for_each(|fragments| fragments.encode(oxm));
        self.payload.or_of(self.original.payload.protocol()).encode(oxm);
        self.original.encode((NiciraField::CtNwSrc, NiciraField::CtNwDst), oxm);
    }
}

impl Ipv6 {
    pub(super) fn encode(&self, oxm: &mut Oxm) {
        oxm.push_masked(Field::Ipv6Src, self.src);
        oxm.push_masked(Field::Ipv6Dst, self.dst);
        self.fragments.into_iter().for_each(|fragments| fragments.encode(oxm));
        match self.payload {
            Ipv6Payload::Ip(payload) => payload.or_of(self.original.payload.protocol()).encode(oxm),
            Ipv6Payload::Icmp(icmpv6) => icmpv6.encode(oxm),
        }
        self.original.encode((NiciraField::CtIpv6Src, NiciraField::CtIpv6Dst), oxm);
    }
}

impl Fragments {
    /// Bit 0 is that of any fragment, bit 1 that of a later one.
    fn encode(self, oxm: &mut Oxm) {
        let (value, mask): (u8, u8) = match self {
            Self::No => (0, 3),
            Self::Any => (1, 1),
            Self::First => (1, 3),
            Self::Later => (3, 3),
            Self::NotLater => (0, 2),
        };
        oxm.push_nicira(NiciraField::IpFragment, Some(Masked::new(value, mask)));
    }
}

impl IpPayload {
    /// The protocol that a match on the connection needs, if the packet may have any.
    fn or_of(self, protocol: Option<u8>) -> Self {
        if self == Self::Any { protocol.map_or(self, Self::Protocol) } else { self }
    }

    fn encode(self, oxm: &mut Oxm) {
        match self {
            Self::Any => {}
            Self::Protocol(number) => oxm.push(Field::IpProto, &[number]),
            Self::Tcp(ports) => ports.encode((TCP, Field::TcpSrc, Field::TcpDst), oxm),
            Self::Udp(ports) => ports.encode((UDP, Field::UdpSrc, Field::UdpDst), oxm),
        }
    }
}

impl Ports {
    fn encode(self, (protocol, src, dst): (u8, Field, Field), oxm: &mut Oxm) {
        oxm.push(Field::IpProto, &[protocol]);
        oxm.push_masked(src, self.src);
        oxm.push_masked(dst, self.dst);
    }
}

impl Icmpv6 {
    fn encode(self, oxm: &mut Oxm) {
        oxm.push(Field::IpProto, &[ICMPV6]);
        match self {
            Self::Any => {}
            Self::Type(number) => oxm.push(Field::Icmpv6Type, &[number]),
            Self::NeighborSolicitation { target, source_mac } => {
                oxm.push(Field::Icmpv6Type, &[NEIGHBOR_SOLICITATION]);
                oxm.push_masked(Field::NdTarget, target);
                oxm.push_masked(Field::NdSll, source_mac);
            }
            Self::NeighborAdvertisement { target, target_mac } => {
                oxm.push(Field::Icmpv6Type, &[NEIGHBOR_ADVERTISEMENT]);
                oxm.push_masked(Field::NdTarget, target);
                oxm.push_masked(Field::NdTll, target_mac);
            }
        }
    }
}
