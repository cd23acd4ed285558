//! What is checked of IPv4, ARP and reverse ARP.

use super::{Kind, Session, Table};
use crate::engine::guard_identity::Identity;
use std::net::Ipv4Addr;
use usnet_crds::MacAddress;

const IPV4: &[u8] = &[0x08, 0x00];
const ARP: &[u8] = &[0x08, 0x06];
const REVERSE_ARP: &[u8] = &[0x80, 0x35];
/// Version 4, and a header without options.
const PLAIN: &[u8] = &[0x45];
/// Version 4, and a header with four bytes of options, as IGMP has.
const WITH_OPTION: &[u8] = &[0x46];
const UDP: &[u8] = &[17];
const IGMP: &[u8] = &[2];
const FIRST: &[u8] = &[0, 0];
const FROM_SERVER: &[u8] = &[0, 67, 0, 68];
const FROM_CLIENT: &[u8] = &[0, 68, 0, 67];
/// Ethernet and IPv4, with addresses of 6 and 4 bytes.
const ETHERNET_AND_IPV4: &[u8] = &[0, 1, 8, 0, 6, 4];
const REQUEST: &[u8] = &[0, 1];
const REPLY: &[u8] = &[0, 2];
const REVERSE_REQUEST: &[u8] = &[0, 3];

const NO_ADDRESS: [u8; 4] = Ipv4Addr::UNSPECIFIED.octets();
const BROADCAST: [u8; 4] = Ipv4Addr::BROADCAST.octets();

/// A session for each IPv4 address.
fn each(identities: &[Identity], session: impl Fn(&[u8], &[u8]) -> Vec<Session>) -> Vec<Session> {
    let of_identity = |identity: &Identity| {
        let mac = identity.mac.octets();
        identity.ipv4.iter().flat_map(|ip| session(&mac, &ip.octets())).collect::<Vec<_>>()
    };
    identities.iter().flat_map(of_identity).collect()
}

/// IPv4 from own addresses, but no answers of a server of DHCP. The ports are in the fragment with
/// offset 0, which is compared whether others follow or not.
pub(super) fn before_arp(identities: &[Identity]) -> Vec<Table> {
    let permitted = each(identities, |mac, ip| vec![Kind::Ipv4.permit(&[mac, IPV4, PLAIN, ip])]);
    if permitted.is_empty() {
        return Vec::new();
    }
    let server = Kind::DhcpServer.refuse(&[IPV4, PLAIN, UDP, FIRST, FROM_SERVER]);
    vec![Table::new(Kind::DhcpServer, [server]), Table::new(Kind::Ipv4, permitted)]
}

/// ARP about own addresses, IGMP from them, and the announcement of QEMU after a migration.
pub(super) fn arp(mac: MacAddress, identities: &[Identity]) -> Vec<Table> {
    let announcement = {
        let mac = mac.octets();
        Kind::Arp.permit(&[&mac, REVERSE_ARP, ETHERNET_AND_IPV4, REVERSE_REQUEST, &mac, &NO_ADDRESS])
    };
    let own = each(identities, |mac, ip| {
        [REQUEST, REPLY].map(|operation| Kind::Arp.permit(&[mac, ARP, ETHERNET_AND_IPV4, operation, mac, ip])).to_vec()
    });
    // Whether another host has the address (RFC 5227).
    let probes = each(identities, |mac, ip| {
        vec![Kind::Probe.permit(&[mac, ARP, ETHERNET_AND_IPV4, REQUEST, mac, &NO_ADDRESS, ip])]
    });
    let groups = each(identities, |mac, ip| vec![Kind::Igmp.permit(&[mac, IPV4, WITH_OPTION, IGMP, ip])]);
    let others = [(Kind::Probe, probes), (Kind::Igmp, groups)].into_iter().filter(|(_, sessions)| !sessions.is_empty());
    let arp = Table::new(Kind::Arp, own.into_iter().chain([announcement]));
    [arp].into_iter().chain(others.map(|(kind, sessions)| Table::new(kind, sessions))).collect()
}

/// Requests of a client of DHCP that has no address.
pub(super) fn dhcp_client(mac: MacAddress) -> Table {
    let request = Kind::DhcpClient.permit(&[&mac.octets(), IPV4, PLAIN, UDP, &NO_ADDRESS, &BROADCAST, FROM_CLIENT]);
    Table::new(Kind::DhcpClient, [request])
}
