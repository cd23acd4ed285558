//! Headers, with their checksums.

use std::net::{Ipv4Addr, Ipv6Addr};

pub(crate) type Mac = [u8; 6];

pub(crate) const ARP: u16 = 0x0806;
pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const ICMP: u8 = 1;
pub(crate) const IGMP: u8 = 2;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;

pub(crate) fn ethernet(to: Mac, from: Mac, kind: u16, payload: &[u8]) -> Vec<u8> {
    [&to, &from, kind.to_be_bytes().as_slice(), payload].concat()
}

/// Inserts the tag of a VLAN into a frame.
pub(crate) fn tagged(frame: &[u8], vlan: u16) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(12);
    [addresses, &[0x81, 0x00], &vlan.to_be_bytes(), rest].concat()
}

pub(crate) fn ipv4(from: Ipv4Addr, to: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x45, 0];
    header.extend(length(20 + payload.len()));
    header.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    header.extend(from.octets());
    header.extend(to.octets());
    put_checksum(&mut header, 10, &[]);
    [header.as_slice(), payload].concat()
}

/// The hop limit is 255, because neighbour discovery ignores packets with a lower one.
pub(crate) fn ipv6(from: Ipv6Addr, to: Ipv6Addr, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = vec![0x60, 0, 0, 0];
    header.extend(length(payload.len()));
    header.extend([next, 255]);
    [header.as_slice(), &from.octets(), &to.octets(), payload].concat()
}

/// The datagram has no checksum, which is allowed over IPv4.
pub(crate) fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    [&from.to_be_bytes(), &to.to_be_bytes(), length(8 + payload.len()).as_slice(), &[0, 0], payload].concat()
}

pub(crate) fn udp_over_ipv6(from: Ipv6Addr, to: Ipv6Addr, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = udp(port, port, payload);
    put_checksum(&mut datagram, 6, &pseudo_header(from, to, UDP, 8 + payload.len()));
    ipv6(from, to, UDP, &datagram)
}

/// Returns the first packet of a connection.
pub(crate) fn syn(from: Ipv4Addr, to: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut segment = [&40_000_u16.to_be_bytes()[..], &port.to_be_bytes(), &[0; 8], &[0x50, 2, 0xff, 0xff]].concat();
    segment.extend([0; 4]);
    let pseudo_header = [&from.octets()[..], &to.octets(), &[0, TCP, 0, 20]].concat();
    put_checksum(&mut segment, 16, &pseudo_header);
    ipv4(from, to, TCP, &segment)
}

pub(crate) fn icmp(from: Ipv4Addr, to: Ipv4Addr, kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, code, 0, 0], rest].concat();
    put_checksum(&mut message, 2, &[]);
    ipv4(from, to, ICMP, &message)
}

pub(crate) fn icmpv6(from: Ipv6Addr, to: Ipv6Addr, kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut message = [&[kind, 0, 0, 0], rest].concat();
    let pseudo_header = pseudo_header(from, to, ICMPV6, message.len());
    put_checksum(&mut message, 2, &pseudo_header);
    ipv6(from, to, ICMPV6, &message)
}

/// The sender or the target of an ARP message.
#[derive(Clone, Copy)]
pub(crate) struct ArpParty {
    pub(crate) mac: Mac,
    pub(crate) ip: Ipv4Addr,
}

/// `operation` is 1 for a request and 2 for a reply.
pub(crate) fn arp(operation: u8, sender: ArpParty, target: ArpParty) -> Vec<u8> {
    let fixed = [0, 1, 8, 0, 6, 4, 0, operation];
    let (sender_ip, target_ip) = (sender.ip.octets(), target.ip.octets());
    [&fixed[..], &sender.mac, &sender_ip, &target.mac, &target_ip].concat()
}

pub(crate) fn length(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

fn pseudo_header(from: Ipv6Addr, to: Ipv6Addr, next: u8, bytes: usize) -> Vec<u8> {
    [&from.octets()[..], &to.octets(), &[0, 0], &length(bytes), &[0, 0, 0, next]].concat()
}

/// Sets the Internet checksum of a message and its pseudo header.
pub(crate) fn put_checksum(message: &mut [u8], at: usize, pseudo_header: &[u8]) {
    let words = |bytes: &[u8]| -> u32 {
        let word = |pair: &[u8]| {
            u32::from(pair.first().copied().unwrap_or(0)) << 8 | u32::from(pair.get(1).copied().unwrap_or(0))
        };
        bytes.chunks(2).map(word).sum()
    };
    let mut sum = words(pseudo_header) + words(message);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    let checksum = (!u16::try_from(sum).unwrap_or(0)).to_be_bytes();
    if let Some(place) = message.get_mut(at..at + 2) {
        place.copy_from_slice(&checksum);
    }
}
