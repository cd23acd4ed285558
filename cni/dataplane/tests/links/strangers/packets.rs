//! Encapsulated packets, whole and in fragments.

use crate::output_of;
use std::net::IpAddr;

pub(super) const VXLAN_PORT: u16 = 4789;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;

/// A packet of IPv4 or IPv6.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    source: IpAddr,
    destination: IpAddr,
    /// Bytes before this part, and whether more follow.
    fragment: Option<(u16, bool)>,
    payload: Vec<u8>,
}

/// The MAC address of a device.
pub(super) fn mac_of(device: &str) -> [u8; 6] {
    let output = output_of(&format!("ip -o link show dev {device}"));
    let text = output.split("link/ether ").nth(1).unwrap().split(' ').next().unwrap();
    let octets: Vec<u8> = text.split(':').map(|octet| u8::from_str_radix(octet, 16).unwrap()).collect();
    octets.try_into().unwrap()
}

/// An encapsulated broadcast, whose source has this number.
pub(super) fn vxlan(vni: u32, number: u32) -> Vec<u8> {
    let [_, vni @ ..] = vni.to_be_bytes();
    let header = [&[8, 0, 0, 0], vni.as_slice(), &[0]].concat();
    let inner = [&[0xff; 6], [2, 0].as_slice(), &number.to_be_bytes(), &[0x88, 0xb5], &[7; 46]].concat();
    [header, inner].concat()
}

pub(super) fn udp(source: IpAddr, destination: IpAddr, port: u16, payload: &[u8]) -> Packet {
    let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    let header = [50_000_u16.to_be_bytes(), port.to_be_bytes(), length, [0, 0]].concat();
    Packet { source, destination, fragment: None, payload: [header, payload.to_vec()].concat() }
}

/// Two parts, of which the first has this many bytes.
pub(super) fn fragments(packet: &Packet, cut: u16) -> [Packet; 2] {
    let (first, second) = packet.payload.split_at(cut.into());
    let part =
        |fragment, payload: &[u8]| Packet { fragment: Some(fragment), payload: payload.to_vec(), ..packet.clone() };
    [part((0, true), first), part((cut, false), second)]
}

/// The frame to a MAC address.
pub(super) fn ethernet(destination: [u8; 6], packet: &Packet) -> Vec<u8> {
    let (protocol, bytes) = match (packet.source, packet.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            (0x0800_u16, ipv4(packet, (source.octets(), destination.octets())))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            (0x86dd, ipv6(packet, (source.octets(), destination.octets())))
        }
        _ => panic!("addresses of two families"),
    };
    [destination.as_slice(), &[2, 0, 0, 0, 0, 0x66], &protocol.to_be_bytes(), &bytes].concat()
}

fn ipv4(packet: &Packet, (source, destination): ([u8; 4], [u8; 4])) -> Vec<u8> {
    let length = u16::try_from(20 + packet.payload.len()).unwrap();
    let fragment = packet.fragment.map_or(0, |(offset, more)| (offset / 8) | if more { 0x2000 } else { 0 });
    let mut header = [
        [0x45, 0].as_slice(),
        &length.to_be_bytes(),
        &identification(packet),
        &fragment.to_be_bytes(),
        &[64, UDP, 0, 0],
        &source,
        &destination,
    ]
    .concat();
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [header, packet.payload.clone()].concat()
}

fn ipv6(packet: &Packet, (source, destination): ([u8; 16], [u8; 16])) -> Vec<u8> {
    let extension = packet.fragment.map(|(offset, more)| {
        let position = (offset | u16::from(more)).to_be_bytes();
        [[UDP, 0].as_slice(), &position, &[0, 0], &identification(packet)].concat()
    });
    let next = if extension.is_some() { FRAGMENT } else { UDP };
    let content = [extension.unwrap_or_default(), packet.payload.clone()].concat();
    let length = u16::try_from(content.len()).unwrap().to_be_bytes();
    [[0x60, 0, 0, 0].as_slice(), &length, &[next, 64], &source, &destination, &content].concat()
}

/// Both parts of a packet have the same one, and different packets different ones. The first parts
/// differ in their length.
fn identification(packet: &Packet) -> [u8; 2] {
    let cut = packet.fragment.map_or(0, |(offset, _)| if offset == 0 { packet.payload.len() } else { offset.into() });
    u16::try_from(cut).unwrap().to_be_bytes()
}
