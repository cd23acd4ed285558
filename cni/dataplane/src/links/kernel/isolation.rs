//! What keeps the node itself out of a network: its device is a port of the engine, not an
//! interface of the node. Without this, pods of other nodes could reach the node's addresses over
//! it, or have the node forward their packets.

use netlink_packet_core::{DefaultNla, NLA_F_NESTED};
use netlink_packet_route::link::{AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute};

const AF_INET: u16 = 2;
const IFLA_INET_CONF: u16 = 1;
/// The numbers of `net.ipv4.conf` in the kernel's interface.
const FORWARDING: u16 = 1;
const RP_FILTER: u16 = 8;
const ARP_IGNORE: u16 = 19;
const DROP_UNICAST_IN_L2_MULTICAST: u16 = 30;

/// No route leads over the device, so that a strict `rp_filter` drops every packet; the others are
/// for nodes that set it to loose for all devices. The device gets no IPv6 address of its own.
const SETTINGS: [(u16, u32); 4] = [(FORWARDING, 0), (RP_FILTER, 1), (ARP_IGNORE, 8), (DROP_UNICAST_IN_L2_MULTICAST, 1)];

pub(super) fn attribute() -> LinkAttribute {
    let inet = DefaultNla::new(AF_INET | NLA_F_NESTED, nested(IFLA_INET_CONF, &devconf()));
    let inet6 = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
    LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Other(inet), inet6])
}

fn devconf() -> Vec<u8> {
    SETTINGS.iter().flat_map(|(number, value)| attribute_bytes(*number, &value.to_ne_bytes())).collect()
}

fn nested(kind: u16, content: &[u8]) -> Vec<u8> {
    attribute_bytes(kind | NLA_F_NESTED, content)
}

/// One attribute: length, kind, content. All contents here are multiples of four bytes.
fn attribute_bytes(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 4).unwrap_or(u16::MAX);
    [&length.to_ne_bytes(), &kind.to_ne_bytes(), content].concat()
}
