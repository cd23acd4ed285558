//! What is checked of IPv6 and of neighbor discovery (RFC 4861).

use super::ipv4::NO_PORT;
use super::priority::Priority;
use crate::engine::guard_identity::Identity;
use std::net::Ipv6Addr;
use usnet_openflow::flow::{Fragments, Icmpv6, IpPayload, Ipv6, Ipv6Payload, Masked, Payload, Ports};

const DHCP_SERVER: u16 = 547;
const DHCP_CLIENT: u16 = 546;
const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;
const REDIRECT: u8 = 137;
/// Version 2 of multicast listener discovery.
const LISTENER_REPORT: u8 = 143;

/// Hop-by-hop options, routing, authentication and destination options. The switch looks behind
/// whole ones.
const EXTENSION_HEADERS: [u8; 4] = [0, 43, 51, 60];

const LINK_LOCAL: Masked<Ipv6Addr> =
    Masked::new(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xffc0, 0, 0, 0, 0, 0, 0, 0));
const GROUPS: Masked<Ipv6Addr> =
    Masked::new(Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0));

/// What no pod may send, whatever its addresses.
pub(super) fn refused() -> impl Iterator<Item = (Priority, Payload)> {
    let types = [ROUTER_ADVERTISEMENT, NEIGHBOR_SOLICITATION, NEIGHBOR_ADVERTISEMENT, REDIRECT];
    let ports = Ports { src: Some(DHCP_SERVER.into()), dst: Some(DHCP_CLIENT.into()) };
    let dhcp = ip(IpPayload::Udp(ports));
    let others = types.map(|number| icmp(Icmpv6::Type(number))).into_iter().chain([dhcp]);
    let hidden = hidden().map(|ipv6| (Priority::Hidden, Payload::Ipv6(ipv6)));
    hidden.chain(others.map(|ipv6| (Priority::Refused, Payload::Ipv6(ipv6))))
}

/// What hides its type or its ports. A message or a chain of headers that is cut off, by a fragment
/// or by a length, has type 0, port 0 or the number of the header that is not whole.
fn hidden() -> impl Iterator<Item = Ipv6> {
    let fragment = Ipv6 { fragments: Some(Fragments::Any), ..icmp(Icmpv6::Any) };
    let udp = Ipv6 { fragments: Some(Fragments::NotLater), ..ip(IpPayload::Udp(NO_PORT)) };
    let all = [
        Ipv6 { src: Some(LINK_LOCAL), ..fragment },
        Ipv6 { dst: Some(GROUPS), ..fragment },
        icmp(Icmpv6::Type(0)),
        udp,
    ];
    all.into_iter().chain(EXTENSION_HEADERS.map(|number| ip(IpPayload::Protocol(number))))
}

/// IPv6 and neighbor discovery with the addresses of an identity; nothing without addresses.
pub(super) fn allowed(identity: &Identity) -> Vec<(Priority, Payload)> {
    let of_address = |ip: &Ipv6Addr| {
        let ip = *ip;
        let neighbors = discovery(identity, ip).into_iter().map(|ipv6| (Priority::Neighbors, Payload::Ipv6(ipv6)));
        let own = Ipv6 { src: Some(ip.into()), ..Ipv6::default() };
        neighbors.chain([(Priority::Allowed, Payload::Ipv6(own))])
    };
    let mut all: Vec<(Priority, Payload)> = identity.ipv6.iter().flat_map(of_address).collect();
    if !all.is_empty() {
        // A host reports the groups of an address while it has none yet.
        let report = Ipv6 { src: Some(Ipv6Addr::UNSPECIFIED.into()), ..icmp(Icmpv6::Type(LISTENER_REPORT)) };
        all.push((Priority::Allowed, Payload::Ipv6(report)));
    }
    all
}

/// Solicitations from an address, advertisements of it from any address of the identity, and the
/// question whether another host has it, which is asked without an address.
fn discovery(identity: &Identity, ip: Ipv6Addr) -> Vec<Ipv6> {
    let mac = Some(identity.mac.octets().into());
    let solicitation = icmp(Icmpv6::NeighborSolicitation { target: None, source_mac: mac });
    let detection = icmp(Icmpv6::NeighborSolicitation { target: Some(ip.into()), source_mac: Some([0; 6].into()) });
    let advertisement = icmp(Icmpv6::NeighborAdvertisement { target: Some(ip.into()), target_mac: mac });
    let mut all = vec![
        Ipv6 { src: Some(ip.into()), ..solicitation },
        Ipv6 { src: Some(Ipv6Addr::UNSPECIFIED.into()), ..detection },
    ];
    all.extend(identity.ipv6.iter().map(|source| Ipv6 { src: Some((*source).into()), ..advertisement }));
    all
}

fn icmp(message: Icmpv6) -> Ipv6 {
    Ipv6 { payload: Ipv6Payload::Icmp(message), ..Ipv6::default() }
}

fn ip(payload: IpPayload) -> Ipv6 {
    Ipv6 { payload: Ipv6Payload::Ip(payload), ..Ipv6::default() }
}
