//! What is checked of IPv4, ARP and reverse ARP.

use super::priority::Priority;
use crate::engine::guard_identity::Identity;
use std::net::Ipv4Addr;
use usnet_crds::MacAddress;
use usnet_openflow::flow::{Arp, ArpOperation, Fragments, IpPayload, Ipv4, Masked, Payload, Ports};

const DHCP_SERVER: u16 = 67;
const DHCP_CLIENT: u16 = 68;

/// Port 0, which no program has: that of UDP whose ports are not there.
pub(super) const NO_PORT: Ports = Ports { src: None, dst: Some(Masked::new(0, u16::MAX)) };

/// What no pod may send, whatever its addresses: UDP that hides its ports, and answers of a server
/// of DHCP.
pub(super) fn refused() -> [(Priority, Payload); 2] {
    let ports = Ports { src: Some(DHCP_SERVER.into()), dst: Some(DHCP_CLIENT.into()) };
    let udp = |ports| Ipv4 { payload: IpPayload::Udp(ports), ..Ipv4::default() };
    let hidden = Ipv4 { fragments: Some(Fragments::NotLater), ..udp(NO_PORT) };
    [(Priority::Hidden, Payload::Ipv4(hidden)), (Priority::Refused, Payload::Ipv4(udp(ports)))]
}

/// IP and ARP with the addresses of an identity.
pub(super) fn allowed(identity: &Identity) -> Vec<Payload> {
    let sender_mac = Some(identity.mac.octets().into());
    let of_address = |ip: &Ipv4Addr| {
        let own = Some((*ip).into());
        let arp = |operation| Arp { operation: Some(operation), sender_ip: own, sender_mac, ..Arp::default() };
        // Whether another host has the address (RFC 5227).
        let no_address = Some(Ipv4Addr::UNSPECIFIED.into());
        let probe = Arp { sender_ip: no_address, target_ip: own, ..arp(ArpOperation::Request) };
        [
            Payload::Ipv4(Ipv4 { src: own, ..Ipv4::default() }),
            Payload::Arp(arp(ArpOperation::Request)),
            Payload::Arp(arp(ArpOperation::Reply)),
            Payload::Arp(probe),
        ]
    };
    identity.ipv4.iter().flat_map(of_address).collect()
}

/// By which QEMU announces a virtual machine after its migration: reverse ARP without addresses.
pub(super) fn announcement(mac: MacAddress) -> Payload {
    Payload::Rarp(Arp {
        operation: Some(ArpOperation::ReverseRequest),
        sender_ip: Some(Ipv4Addr::UNSPECIFIED.into()),
        sender_mac: Some(mac.octets().into()),
        ..Arp::default()
    })
}

/// Requests of a client of DHCP that has no address.
pub(super) fn dhcp_client() -> Payload {
    Payload::Ipv4(Ipv4 {
        src: Some(Ipv4Addr::UNSPECIFIED.into()),
        dst: Some(Ipv4Addr::BROADCAST.into()),
        payload: IpPayload::Udp(Ports { src: Some(DHCP_CLIENT.into()), dst: Some(DHCP_SERVER.into()) }),
        ..Ipv4::default()
    })
}
