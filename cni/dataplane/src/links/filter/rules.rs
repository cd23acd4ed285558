//! The rules. A packet of an overlay is one to its UDP port with its VNI: other VNIs on the same
//! port belong to others, such as the cluster network, and are not touched.
//!
//! Fragments: the kernel reassembles those of IPv4 before `input`, and neither those that it
//! forwards nor those of IPv6. The first fragment contains the UDP header; one that is cut before
//! the VNI is dropped, whatever it is, and without it the others are never reassembled. One that
//! contains the VNI is judged by it, and no later fragment can overwrite it: the kernel discards
//! packets whose fragments overlap.

use super::model::{OverlayFilter, OverlayKey};
use crate::nftables::expression::{
    Base, MetaKey, Verdict, counter, equals, in_set, masked, meta, not_in_set, payload, verdict,
};
use crate::nftables::{BaseChain, Batch, ChainHook, ChainKind, Expression, KeyType, Policy, Table};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Tables of others are never changed.
pub(super) const TABLE: Table = Table::inet("usnet");

pub(super) const INPUT: &str = "overlay-input";
pub(super) const FORWARD: &str = "overlay-forward";
/// Before the chains of others, which may accept what is to be dropped.
pub(super) const PRIORITY: i32 = -310;

const UDP: u8 = 17;
const IPV4: u8 = 2;
const IPV6: u8 = 10;

/// The port at offset 2 of the UDP header, up to the VNI at offset 4 of the header of VXLAN.
const KEY_OFFSET: u32 = 2;
const KEY_LENGTH: u32 = 13;
/// The port and the VNI count of these bytes.
const KEY_MASK: [u8; 13] = [0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff];

/// A set and its elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    pub(super) name: &'static str,
    pub(super) key: KeyType,
    pub(super) elements: BTreeSet<Vec<u8>>,
}

/// The chains with their rules.
pub(super) type Chains = [(BaseChain, Vec<Vec<Expression>>); 2];

pub(super) fn sets(filter: &OverlayFilter) -> Vec<Set> {
    let peers = |is_v4: bool| filter.peers.iter().filter(move |peer| peer.is_ipv4() == is_v4).map(|peer| octets(*peer));
    let ports = filter.overlays.iter().map(|overlay| overlay.port.to_be_bytes().to_vec());
    let keys = |overlays: &BTreeSet<OverlayKey>| overlays.iter().map(key).collect();
    let bytes = KeyType::Bytes(KEY_LENGTH);
    vec![
        Set { name: "ports", key: KeyType::Bytes(2), elements: ports.collect() },
        Set { name: "overlays", key: bytes, elements: keys(&filter.overlays) },
        Set { name: "groups", key: bytes, elements: keys(&filter.groups) },
        Set { name: "peers4", key: KeyType::Ipv4, elements: peers(true).collect() },
        Set { name: "peers6", key: KeyType::Ipv6, elements: peers(false).collect() },
    ]
}

pub(super) fn chains(filter: &OverlayFilter) -> Chains {
    let chain = |name: &str, hook: ChainHook| BaseChain {
        name: name.to_owned(),
        hook,
        priority: PRIORITY,
        policy: Policy::Accept,
        kind: ChainKind::Filter,
    };
    let accepted = [(IPV4, "peers4"), (IPV6, "peers6")].map(|(family, set)| from_peers(family, set));
    let segments = filter.segments.iter().map(|(address, prefix)| from_segment(*address, *prefix));
    let input = accepted.into_iter().chain(segments).chain(dropped());
    [(chain(INPUT, ChainHook::Input), input.collect()), (chain(FORWARD, ChainHook::Forward), dropped().to_vec())]
}

/// Everything, in one step for the packets. A table that is there is replaced.
pub(super) fn create(filter: &OverlayFilter) -> Batch {
    let mut batch = delete();
    batch.add_table(TABLE);
    for (id, set) in (1..).zip(sets(filter)) {
        batch.add_set(TABLE, set.name, set.key, id);
        batch.add_elements(TABLE, set.name, set.elements);
    }
    batch.add_chains(TABLE, chains(filter));
    batch
}

/// Nothing is left; there may be nothing.
pub(super) fn delete() -> Batch {
    let mut batch = Batch::default();
    batch.remove_table(TABLE);
    batch
}

/// What a node sends to its peers goes on.
fn from_peers(family: u8, set: &str) -> Vec<Expression> {
    let source = source(family);
    [to_ports().as_slice(), &[meta(MetaKey::Nfproto), equals(&[family]), source, in_set(set), verdict(Verdict::Accept)]]
        .concat()
}

/// The nodes of a multicast group do not know each other, and are in one Ethernet segment.
fn from_segment(address: IpAddr, prefix: u8) -> Vec<Expression> {
    let family = if address.is_ipv4() { IPV4 } else { IPV6 };
    let address = octets(address);
    let mask = mask(address.len(), prefix);
    let network: Vec<u8> = address.iter().zip(&mask).map(|(octet, mask)| octet & mask).collect();
    let source = [meta(MetaKey::Nfproto), equals(&[family]), source(family), masked(&mask), equals(&network)];
    let [udp, is_udp] = udp();
    let [bytes, of_key] = key_of_packet();
    [&[udp, is_udp, bytes, of_key, in_set("groups")], source.as_slice(), &[verdict(Verdict::Accept)]].concat()
}

/// Everything else of an overlay, and what is too short to say that it is of another one.
fn dropped() -> [Vec<Expression>; 3] {
    let [udp, is_udp] = udp();
    let [bytes, of_key] = key_of_packet();
    let to_ports = to_ports();
    [
        vec![udp, is_udp, bytes.clone(), of_key.clone(), in_set("overlays"), counter(), verdict(Verdict::Drop)],
        [to_ports.as_slice(), &[bytes, of_key, not_in_set("overlays"), verdict(Verdict::Accept)]].concat(),
        [to_ports.as_slice(), &[counter(), verdict(Verdict::Drop)]].concat(),
    ]
}

fn udp() -> [Expression; 2] {
    [meta(MetaKey::L4Proto), equals(&[UDP])]
}

fn to_ports() -> Vec<Expression> {
    let [udp, is_udp] = udp();
    vec![udp, is_udp, payload(Base::Transport, KEY_OFFSET, 2), in_set("ports")]
}

fn key_of_packet() -> [Expression; 2] {
    [payload(Base::Transport, KEY_OFFSET, KEY_LENGTH), masked(&KEY_MASK)]
}

fn source(family: u8) -> Expression {
    if family == IPV4 { payload(Base::Network, 12, 4) } else { payload(Base::Network, 8, 16) }
}

fn key(OverlayKey { port, vni }: &OverlayKey) -> Vec<u8> {
    let [_, vni @ ..] = vni.to_be_bytes();
    [port.to_be_bytes().as_slice(), &[0; 8], &vni].concat()
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// The first bits of an address.
fn mask(length: usize, prefix: u8) -> Vec<u8> {
    let byte = |number: usize| {
        let ones = usize::from(prefix).saturating_sub(number * 8).min(8);
        u8::try_from(0xff00_u16 >> ones & 0xff).unwrap_or_default()
    };
    (0..length).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_a_subnet_has_as_many_bits_as_its_prefix() {
        assert_eq!(mask(4, 20), [255, 255, 240, 0]);
        assert_eq!((mask(4, 0), mask(4, 32)), (vec![0; 4], vec![255; 4]));
        assert_eq!(mask(16, 65)[..9], [255, 255, 255, 255, 255, 255, 255, 255, 128]);
    }

    #[test]
    fn an_overlay_is_known_by_port_and_vni() {
        let bytes = key(&OverlayKey { port: 4789, vni: 0x01_02_03 });
        assert_eq!(bytes, [0x12, 0xb5, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        assert_eq!(bytes.len(), KEY_MASK.len());
    }

    #[test]
    fn sets_grow_with_nodes_and_overlays_and_not_with_their_product() {
        let overlays: BTreeSet<OverlayKey> = (1..=1000).map(|vni| OverlayKey { port: 4789, vni }).collect();
        let peers = (1..=250_u8).map(|last| IpAddr::from([10, 0, 0, last])).collect();
        let filter = OverlayFilter { overlays, peers, ..OverlayFilter::default() };
        let elements = |name: &str| sets(&filter).into_iter().find(|set| set.name == name).unwrap().elements.len();
        assert_eq!(["ports", "overlays", "groups", "peers4", "peers6"].map(elements), [1, 1000, 0, 250, 0]);
        let rules: usize = chains(&filter).iter().map(|(_, rules)| rules.len()).sum();
        assert_eq!(rules, 8);
    }

    #[test]
    fn only_a_multicast_group_lets_a_subnet_in() {
        let [one, two] = [1, 2].map(|vni| OverlayKey { port: 4789, vni });
        let segments = [("10.0.3.1".parse().unwrap(), 22), ("fd00::1".parse().unwrap(), 64)].into();
        let filter =
            OverlayFilter { overlays: [one, two].into(), groups: [two].into(), segments, ..OverlayFilter::default() };
        let [(_, input), (_, forward)] = chains(&filter);
        assert_eq!((input.len(), forward.len()), (7, 3));
        assert!(input[2].contains(&equals(&[10, 0, 0, 0])) && input[2].contains(&in_set("groups")));
        assert!(forward.iter().flatten().all(|expression| *expression != in_set("peers4")));
    }
}
