//! The second layer: settings of the device, which stay when all rules of the node are deleted.
//! They do not suffice alone: broadcasts and multicast from any source come through, and IPv6 needs
//! a file that the agent cannot write.

use netlink_packet_core::{DefaultNla, NLA_F_NESTED};
use netlink_packet_route::link::{AfSpecInet, AfSpecInet6, AfSpecUnspec, In6AddrGenMode, LinkAttribute};
use std::fs;

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

/// The node's own device in a network answers ARP for its own addresses alone, and takes packets of
/// the network's subnets alone.
const STRICT: [(u16, u32); 3] = [(RP_FILTER, 1), (ARP_IGNORE, 1), (DROP_UNICAST_IN_L2_MULTICAST, 1)];

/// The settings, for a request that changes a device. They can be set again.
pub fn attribute() -> LinkAttribute {
    with(&SETTINGS)
}

/// The settings of the node's own device in a network.
pub fn strict_attribute() -> LinkAttribute {
    with(&STRICT)
}

fn with(settings: &[(u16, u32)]) -> LinkAttribute {
    let inet = DefaultNla::new(AF_INET | NLA_F_NESTED, nested(IFLA_INET_CONF, &devconf(settings)));
    let inet6 = AfSpecUnspec::Inet6(vec![AfSpecInet6::AddrGenMode(In6AddrGenMode::None)]);
    LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Other(inet), inet6])
}

/// Whether the settings of IPv4 that the kernel reports are these. What it does not report is taken
/// for right: a kernel without IPv4 has no such settings.
pub fn are_set(attributes: &[LinkAttribute]) -> bool {
    have(attributes, &SETTINGS)
}

/// Whether those of the node's own device in a network are these.
pub fn are_strict(attributes: &[LinkAttribute]) -> bool {
    have(attributes, &STRICT)
}

fn have(attributes: &[LinkAttribute], settings: &[(u16, u32)]) -> bool {
    let specific = attributes.iter().filter_map(|attribute| match attribute {
        LinkAttribute::AfSpecUnspec(families) => Some(families),
        _ => None,
    });
    let inet = specific.flatten().filter_map(|family| match family {
        AfSpecUnspec::Inet(settings) => Some(settings),
        _ => None,
    });
    inet.flatten().all(|of_family| match of_family {
        AfSpecInet::DevConf(found) => {
            let value = |number| match number {
                FORWARDING => found.forwarding,
                RP_FILTER => found.rp_filter,
                ARP_IGNORE => found.arp_ignore,
                _ => found.drop_unicast_in_l2_multicast,
            };
            settings.iter().all(|(number, wanted)| i64::from(*wanted) == i64::from(value(*number)))
        }
        _ => true,
    })
}

/// Switches IPv6 off for a device of this network namespace, so that the node sends nothing of its
/// own on it either. It can fail: a kernel may have no IPv6, a container may not write it.
pub fn disable_ipv6(device: &str) {
    let _best_effort = fs::write(format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6"), "1");
}

fn devconf(settings: &[(u16, u32)]) -> Vec<u8> {
    settings.iter().flat_map(|(number, value)| attribute_bytes(*number, &value.to_ne_bytes())).collect()
}

fn nested(kind: u16, content: &[u8]) -> Vec<u8> {
    attribute_bytes(kind | NLA_F_NESTED, content)
}

/// One attribute: length, kind, content. All contents here are multiples of four bytes.
fn attribute_bytes(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 4).unwrap_or(u16::MAX);
    [&length.to_ne_bytes(), &kind.to_ne_bytes(), content].concat()
}
