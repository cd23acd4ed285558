//! The kinds of tables, and what each compares.

use super::layout::{
    ARP_HEADER, ARP_OPERATION, ARP_SENDER_IP, ARP_SENDER_MAC, ARP_TARGET_IP, ETHERTYPE, Field, ICMPV6_TARGET,
    IPV4_DESTINATION, IPV4_FRAGMENT_OFFSET, IPV4_HEADER, IPV4_PORTS, IPV4_PROTOCOL, IPV4_SOURCE, IPV6_EXTENSION_LENGTH,
    IPV6_FIRST, IPV6_FRAGMENT_OFFSET, IPV6_NEXT, IPV6_PORTS, IPV6_SECOND, IPV6_SECOND_PORTS, IPV6_SOURCE, IPV6_VERSION,
    REACH, SOURCE_MAC, mask, matched,
};
use super::{Session, Verdict};

/// Marks the sessions of usnet: "us", and 0.
pub(super) const MARK: u32 = 0x7573_0000;

/// Whether a session with this number is one of usnet.
pub(super) const fn is_marked(number: u32) -> bool {
    number & 0xffff_0000 == MARK
}

/// A kind of table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::vpp) enum Kind {
    Mac,
    DhcpServer,
    Ipv4,
    /// Answers of neighbor discovery, and the question whether another host has an address.
    Discovery,
    /// Multicast listener discovery, which has an extension header.
    Listener,
    ExtensionHeader,
    Icmpv6,
    Dhcpv6Server,
    FragmentedDhcpv6Server,
    Ipv6,
    Arp,
    /// The question whether another host has an IPv4 address.
    Probe,
    Igmp,
    DhcpClient,
    /// The text of the guard.
    Text,
}

impl Kind {
    const ALL: [Self; 15] = [
        Self::Mac,
        Self::DhcpServer,
        Self::Ipv4,
        Self::Discovery,
        Self::Listener,
        Self::ExtensionHeader,
        Self::Icmpv6,
        Self::Dhcpv6Server,
        Self::FragmentedDhcpv6Server,
        Self::Ipv6,
        Self::Arp,
        Self::Probe,
        Self::Igmp,
        Self::DhcpClient,
        Self::Text,
    ];

    /// The kind of tables with this mask.
    pub(super) fn of(mask: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.mask() == mask)
    }

    const fn fields(self) -> &'static [Field] {
        match self {
            Self::Mac => &[SOURCE_MAC],
            Self::DhcpServer => &[ETHERTYPE, IPV4_HEADER, IPV4_PROTOCOL, IPV4_FRAGMENT_OFFSET, IPV4_PORTS],
            Self::Ipv4 => &[SOURCE_MAC, ETHERTYPE, IPV4_HEADER, IPV4_SOURCE],
            Self::Discovery => {
                &[SOURCE_MAC, ETHERTYPE, IPV6_VERSION, IPV6_NEXT, IPV6_SOURCE, IPV6_FIRST, ICMPV6_TARGET]
            }
            Self::Listener => &[
                SOURCE_MAC,
                ETHERTYPE,
                IPV6_VERSION,
                IPV6_NEXT,
                IPV6_SOURCE,
                IPV6_FIRST,
                IPV6_EXTENSION_LENGTH,
                IPV6_SECOND,
            ],
            Self::ExtensionHeader => &[ETHERTYPE, IPV6_NEXT],
            Self::Icmpv6 => &[ETHERTYPE, IPV6_NEXT, IPV6_FIRST],
            Self::Dhcpv6Server => &[ETHERTYPE, IPV6_NEXT, IPV6_PORTS],
            Self::FragmentedDhcpv6Server => {
                &[ETHERTYPE, IPV6_NEXT, IPV6_FIRST, IPV6_FRAGMENT_OFFSET, IPV6_SECOND_PORTS]
            }
            Self::Ipv6 => &[SOURCE_MAC, ETHERTYPE, IPV6_VERSION, IPV6_SOURCE],
            Self::Arp => &[SOURCE_MAC, ETHERTYPE, ARP_HEADER, ARP_OPERATION, ARP_SENDER_MAC, ARP_SENDER_IP],
            Self::Probe => {
                &[SOURCE_MAC, ETHERTYPE, ARP_HEADER, ARP_OPERATION, ARP_SENDER_MAC, ARP_SENDER_IP, ARP_TARGET_IP]
            }
            Self::Igmp => &[SOURCE_MAC, ETHERTYPE, IPV4_HEADER, IPV4_PROTOCOL, IPV4_SOURCE],
            Self::DhcpClient => {
                &[SOURCE_MAC, ETHERTYPE, IPV4_HEADER, IPV4_PROTOCOL, IPV4_SOURCE, IPV4_DESTINATION, IPV4_PORTS]
            }
            Self::Text => &[],
        }
    }

    /// The mask, which tells the kinds apart.
    pub(in crate::engine::vpp) fn mask(self) -> Vec<u8> {
        if self == Self::Text { vec![0xff; REACH] } else { mask(self.fields()) }
    }

    /// A session for frames whose fields have these values, which pass.
    pub(super) fn permit(self, values: &[&[u8]]) -> Session {
        Session { matched: matched(self.fields(), values), verdict: Verdict::Pass, number: MARK }
    }

    /// A session for frames whose fields have these values, which are dropped.
    pub(super) fn refuse(self, values: &[&[u8]]) -> Session {
        Session { verdict: Verdict::Drop, ..self.permit(values) }
    }
}
