//! What is checked of IPv6 and of neighbor discovery (RFC 4861).

use super::{Kind, Session, Table};
use crate::engine::guard_identity::{Identity, link_local};
use std::net::Ipv6Addr;

const IPV6: &[u8] = &[0x86, 0xdd];
const VERSION: &[u8] = &[0x60];
const NO_ADDRESS: [u8; 16] = Ipv6Addr::UNSPECIFIED.octets();
const NO_LENGTH: &[u8] = &[0];
const FIRST: &[u8] = &[0, 0];
/// 547 and 546.
const FROM_SERVER: &[u8] = &[0x02, 0x23, 0x02, 0x22];

const HOP_BY_HOP: u8 = 0;
const UDP: u8 = 17;
const FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;
/// Hop-by-hop options, routing, authentication, destination options, mobility, host identity and
/// shim6: what follows them is at no fixed offset.
const EXTENSION_HEADERS: [u8; 7] = [HOP_BY_HOP, 43, 51, 60, 135, 139, 140];

const ROUTER_ADVERTISEMENT: u8 = 134;
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;
const REDIRECT: u8 = 137;
/// Multicast listener discovery, versions 1 and 2.
const LISTENERS: [u8; 3] = [131, 132, 143];

/// All tables, if there is any IPv6 address.
pub(super) fn tables(identities: &[Identity]) -> Vec<Table> {
    let of_each = |sessions: fn(&Identity) -> Vec<Session>| identities.iter().flat_map(sessions);
    if identities.iter().all(|identity| identity.ipv6.is_empty()) {
        return Vec::new();
    }
    vec![
        Table::new(Kind::Discovery, of_each(discovery)),
        Table::new(Kind::Listener, of_each(listeners)),
        Table::new(Kind::ExtensionHeader, extension_headers()),
        Table::new(Kind::Icmpv6, icmpv6()),
        Table::new(Kind::Dhcpv6Server, [Kind::Dhcpv6Server.refuse(&[IPV6, &[UDP], FROM_SERVER])]),
        Table::new(
            Kind::FragmentedDhcpv6Server,
            [Kind::FragmentedDhcpv6Server.refuse(&[IPV6, &[FRAGMENT], &[UDP], FIRST, FROM_SERVER])],
        ),
        Table::new(Kind::Ipv6, of_each(own)),
    ]
}

/// Advertisements of own addresses from own addresses, and the question whether another host has an
/// address, which is asked without one.
fn discovery(identity: &Identity) -> Vec<Session> {
    let mac = identity.mac.octets();
    let message = |source: [u8; 16], number: u8, target: &Ipv6Addr| {
        Kind::Discovery.permit(&[&mac, IPV6, VERSION, &[ICMPV6], &source, &[number], &target.octets()])
    };
    let of_target = |target: &Ipv6Addr| {
        let sources = identity.ipv6.iter();
        let advertisements = sources.map(|source| message(source.octets(), NEIGHBOR_ADVERTISEMENT, target));
        advertisements.chain([message(NO_ADDRESS, NEIGHBOR_SOLICITATION, target)]).collect::<Vec<_>>()
    };
    identity.ipv6.iter().flat_map(of_target).collect()
}

/// From the link-local address, or without one. The option takes all of the extension header.
fn listeners(identity: &Identity) -> Vec<Session> {
    if identity.ipv6.is_empty() {
        return Vec::new();
    }
    let mac = identity.mac.octets();
    let sources = [NO_ADDRESS, link_local(identity.mac).octets()];
    let message = |source: &[u8; 16], number: u8| {
        Kind::Listener.permit(&[&mac, IPV6, VERSION, &[HOP_BY_HOP], source, &[ICMPV6], NO_LENGTH, &[number]])
    };
    sources.iter().flat_map(|source| LISTENERS.map(|number| message(source, number))).collect()
}

fn extension_headers() -> Vec<Session> {
    EXTENSION_HEADERS.map(|header| Kind::ExtensionHeader.refuse(&[IPV6, &[header]])).to_vec()
}

/// What only routers send, advertisements that were not permitted before, and ICMPv6 and extension
/// headers in fragments: the type is in another fragment, or at another offset.
fn icmpv6() -> Vec<Session> {
    let drop = |next: u8, first: u8| Kind::Icmpv6.refuse(&[IPV6, &[next], &[first]]);
    let messages = [ROUTER_ADVERTISEMENT, NEIGHBOR_ADVERTISEMENT, REDIRECT].map(|number| drop(ICMPV6, number));
    let hidden = EXTENSION_HEADERS.into_iter().chain([FRAGMENT, ICMPV6]).map(|header| drop(FRAGMENT, header));
    messages.into_iter().chain(hidden).collect()
}

fn own(identity: &Identity) -> Vec<Session> {
    let mac = identity.mac.octets();
    identity.ipv6.iter().map(|ip| Kind::Ipv6.permit(&[&mac, IPV6, VERSION, &ip.octets()])).collect()
}
