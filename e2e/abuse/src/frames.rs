//! The frames. No IO.

use crate::build::{
    ARP, ArpParty, ICMP, IGMP, IPV4, IPV6, Mac, UDP, arp, ethernet, icmp, icmpv6, ipv4, put_checksum, syn, tagged, udp,
    udp_over_ipv6,
};
use std::net::{Ipv4Addr, Ipv6Addr};

/// The frames are sent to this UDP and TCP port of the node.
pub const PORT: u16 = 7777;
/// Router advertisements advertise this prefix of 64 bits.
pub const ADVERTISED: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xbad, 0, 0, 0, 0, 0);

/// The receiver of the frames.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub mac: Mac,
    pub ipv4: Ipv4Addr,
    pub ipv6: Ipv6Addr,
    /// An address to which the node forwards.
    pub beyond_ipv4: Ipv4Addr,
    /// An address to which the node forwards.
    pub beyond_ipv6: Ipv6Addr,
}

impl Target {
    /// Returns the link-local address that the kernel would give the node's end.
    fn link_local(&self) -> Ipv6Addr {
        let [a, b, c, d, e, f] = self.mac.map(u16::from);
        Ipv6Addr::new(0xfe80, 0, 0, 0, (a ^ 2) << 8 | b, c << 8 | 0xff, 0xfe00 | d, e << 8 | f)
    }
}

#[derive(Debug, Clone)]
pub struct Frame {
    /// A description for the message of a failed test.
    pub name: String,
    pub bytes: Vec<u8>,
}

const OWN: Mac = [0x02, 0, 0, 0, 0xab, 0x05];
const BROADCAST: Mac = [0xff; 6];
const SOURCES: [(&str, Ipv4Addr); 4] = [
    ("its own address", Ipv4Addr::new(10, 66, 0, 9)),
    ("the address of a service", Ipv4Addr::new(10, 96, 0, 1)),
    ("no address", Ipv4Addr::UNSPECIFIED),
    ("the node's loopback address", Ipv4Addr::LOCALHOST),
];
const SOURCES_IPV6: [(&str, Ipv6Addr); 3] = [
    ("its own address", Ipv6Addr::new(0xfd66, 0, 0, 0, 0, 0, 0, 9)),
    ("a link-local address", Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9)),
    ("the address of a service", Ipv6Addr::new(0xfd96, 0, 0, 0, 0, 0, 0, 1)),
];
const ROUTER: Ipv6Addr = SOURCES_IPV6[1].1;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const VLAN: u16 = 7;

pub fn frames(target: &Target) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut add = |name: String, bytes: Vec<u8>| frames.push(Frame { name, bytes });
    add_ipv4(target, &mut add);
    add_ipv6(target, &mut add);
    add_neighbours(target, &mut add);
    add_routers(target, &mut add);
    frames
}

fn add_ipv4(target: &Target, add: &mut impl FnMut(String, Vec<u8>)) {
    let destinations = [
        ("the node", target.mac, target.ipv4),
        ("the node, by broadcast", BROADCAST, target.ipv4),
        ("all, by the node's MAC address", target.mac, Ipv4Addr::BROADCAST),
        ("all", BROADCAST, Ipv4Addr::BROADCAST),
        ("all systems", [1, 0, 0x5e, 0, 0, 1], Ipv4Addr::new(224, 0, 0, 1)),
        ("what the node forwards to", target.mac, target.beyond_ipv4),
    ];
    for (source, from) in SOURCES {
        for (destination, mac, to) in destinations {
            let packet = ipv4(from, to, UDP, &udp(PORT, PORT, b"abuse"));
            let frame = ethernet(mac, OWN, IPV4, &packet);
            add(format!("UDP in VLAN {VLAN} to {destination} from {source}"), tagged(&frame, VLAN));
            add(format!("UDP to {destination} from {source}"), frame);
        }
        add(format!("TCP to the node from {source}"), ethernet(target.mac, OWN, IPV4, &syn(from, target.ipv4, PORT)));
        let echo = icmp(from, target.ipv4, 8, 0, &[0, 1, 0, 1]);
        add(format!("an echo request from {source}"), ethernet(target.mac, OWN, IPV4, &echo));
    }
    let discover =
        [&[1, 1, 6, 0, 0, 0, 0, 7][..], &[0; 20], &OWN, &[0; 202], &[99, 130, 83, 99, 53, 1, 1, 255]].concat();
    let discover = ipv4(Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST, UDP, &udp(68, 67, &discover));
    add("a DHCP discover".to_owned(), ethernet(BROADCAST, OWN, IPV4, &discover));
    let mut query = vec![0x11, 10, 0, 0, 0, 0, 0, 0];
    put_checksum(&mut query, 2, &[]);
    let query = ipv4(SOURCES[0].1, Ipv4Addr::new(224, 0, 0, 1), IGMP, &query);
    add("an IGMP query".to_owned(), ethernet([1, 0, 0x5e, 0, 0, 1], OWN, IPV4, &query));
    // The redirect tells the node to reach 192.0.2.9 through the pod.
    let inner = ipv4(target.ipv4, Ipv4Addr::new(192, 0, 2, 9), ICMP, &[8, 0, 0, 0, 0, 0, 0, 0]);
    let redirect = icmp(SOURCES[0].1, target.ipv4, 5, 1, &[&SOURCES[0].1.octets()[..], &inner].concat());
    add("a redirect".to_owned(), ethernet(target.mac, OWN, IPV4, &redirect));
}

fn add_ipv6(target: &Target, add: &mut impl FnMut(String, Vec<u8>)) {
    let destinations = [
        ("the node", target.mac, target.ipv6),
        ("the node's end", target.mac, target.link_local()),
        ("all nodes", [0x33, 0x33, 0, 0, 0, 1], ALL_NODES),
        ("what the node forwards to", target.mac, target.beyond_ipv6),
    ];
    for (source, from) in SOURCES_IPV6 {
        for (destination, mac, to) in destinations {
            let packet = udp_over_ipv6(from, to, PORT, b"abuse");
            add(format!("UDP over IPv6 to {destination} from {source}"), ethernet(mac, OWN, IPV6, &packet));
            let echo = icmpv6(from, to, 128, &[0, 1, 0, 1]);
            add(format!("an IPv6 echo request to {destination} from {source}"), ethernet(mac, OWN, IPV6, &echo));
        }
    }
}

fn add_neighbours(target: &Target, add: &mut impl FnMut(String, Vec<u8>)) {
    let own = ArpParty { mac: OWN, ip: SOURCES[0].1 };
    let unknown = ArpParty { mac: [0; 6], ip: target.ipv4 };
    for (name, mac) in [("to all", BROADCAST), ("to the node", target.mac)] {
        let request = arp(1, own, unknown);
        add(format!("an ARP request {name}"), ethernet(mac, OWN, ARP, &request));
        let probe = arp(1, ArpParty { ip: Ipv4Addr::UNSPECIFIED, ..own }, unknown);
        add(format!("an ARP probe {name}"), ethernet(mac, OWN, ARP, &probe));
        let forged = ArpParty { ip: target.beyond_ipv4, ..own };
        let announcement = arp(2, forged, ArpParty { mac: target.mac, ..unknown });
        add(format!("a forged ARP answer {name}"), ethernet(mac, OWN, ARP, &announcement));
    }
    for (name, wanted) in [("the node", target.ipv6), ("the node's end", target.link_local())] {
        let [.., d, e, f] = wanted.octets();
        let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(d), u16::from(e) << 8 | u16::from(f));
        let solicitation = [&[0; 4][..], &wanted.octets(), &[1, 1], &OWN].concat();
        for (to, mac) in [(group, [0x33, 0x33, 0xff, d, e, f]), (wanted, target.mac)] {
            for (_, from) in SOURCES_IPV6 {
                let packet = icmpv6(from, to, 135, &solicitation);
                add(format!("a neighbour solicitation for {name} from {from}"), ethernet(mac, OWN, IPV6, &packet));
            }
        }
    }
    let advertisement = [&[0xa0, 0, 0, 0][..], &target.beyond_ipv6.octets(), &[2, 1], &OWN].concat();
    let packet = icmpv6(ROUTER, ALL_NODES, 136, &advertisement);
    add("a forged neighbour advertisement".to_owned(), ethernet([0x33, 0x33, 0, 0, 0, 1], OWN, IPV6, &packet));
}

fn add_routers(target: &Target, add: &mut impl FnMut(String, Vec<u8>)) {
    let prefix = [&[3, 4, 64, 0xc0, 0, 0, 7, 8, 0, 0, 7, 8, 0, 0, 0, 0][..], &ADVERTISED.octets()].concat();
    let route = [&[24, 2, 48, 0, 0, 0, 7, 8][..], &[0x20, 1, 0x0d, 0xb8, 0xbe, 0xef, 0, 0]].concat();
    let advertisement = [&[64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0][..], &[1, 1], &OWN, &prefix, &route].concat();
    for (name, to, mac) in [
        ("to all", ALL_NODES, [0x33, 0x33, 0, 0, 0, 1]),
        ("to the node's end", target.link_local(), target.mac),
        ("to the node", target.ipv6, target.mac),
    ] {
        let packet = icmpv6(ROUTER, to, 134, &advertisement);
        add(format!("a router advertisement {name}"), ethernet(mac, OWN, IPV6, &packet));
    }
    let destination = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);
    let redirect = [&[0; 4][..], &ROUTER.octets(), &destination.octets(), &[2, 1], &OWN].concat();
    let packet = icmpv6(ROUTER, target.ipv6, 137, &redirect);
    add("an IPv6 redirect".to_owned(), ethernet(target.mac, OWN, IPV6, &packet));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_receiver() {
        let target = Target {
            mac: [2, 0, 0, 0, 0, 1],
            ipv4: Ipv4Addr::new(10, 0, 0, 1),
            ipv6: ADVERTISED,
            beyond_ipv4: Ipv4Addr::new(10, 77, 0, 2),
            beyond_ipv6: ADVERTISED,
        };
        assert_eq!(target.link_local().to_string(), "fe80::ff:fe00:1");
        let all = frames(&target);
        assert!(all.len() > 80, "{}", all.len());
        for frame in all.iter().filter(|frame| frame.bytes[12..14] == [8, 0]) {
            let sum: u32 = frame.bytes[14..34].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
            assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "{}", frame.name);
        }
    }
}
