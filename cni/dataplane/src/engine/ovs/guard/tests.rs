//! What the flows of ports have in common; the flows themselves are compared on a switch.

use super::*;
use crate::model::port::GuardedPair;
use std::collections::BTreeSet;
use std::net::IpAddr;

fn port(addresses: &[&str]) -> GuardedPort {
    GuardedPort {
        number: PortNumber::new(7).unwrap(),
        anti_spoofing: AntiSpoofing::Address,
        mac: mac("02:00:00:00:00:0a"),
        addresses: addresses.iter().map(|text| ip(text)).collect(),
        pairs: Vec::new(),
        is_trunk: false,
        uses_dhcp: false,
    }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn mac(text: &str) -> MacAddress {
    text.parse().unwrap()
}

fn with_pair(port: GuardedPort, pair: (&str, &str)) -> GuardedPort {
    GuardedPort { pairs: vec![GuardedPair { ip: ip(pair.0), mac: mac(pair.1) }], ..port }
}

/// The flows that forward, without their port.
fn forwarded(port: &GuardedPort) -> Vec<Match> {
    let forwarded = flows(port).into_iter().filter(|flow| flow.action == FORWARD);
    forwarded.map(|flow| flow.matches).collect()
}

#[test]
fn a_port_has_as_many_flows_as_its_addresses_need() {
    for (addresses, count) in
        [(vec![], 4), (vec!["10.9.0.10"], 8), (vec!["fd09::a"], 28), (vec!["10.9.0.10", "fd09::a"], 32)]
    {
        assert_eq!(flows(&port(&addresses)).len(), count, "{addresses:?}");
    }
    let checked_by_mac = GuardedPort { anti_spoofing: AntiSpoofing::Mac, ..port(&["10.9.0.10"]) };
    assert_eq!(flows(&checked_by_mac).len(), 2);
}

#[test]
fn each_flow_is_about_its_port_and_has_a_cookie_of_its_own() {
    let port = with_pair(port(&["10.9.0.10", "fd09::a"]), ("fd09::64", "00:00:5e:00:02:05"));
    let flows = flows(&port);
    let cookies: BTreeSet<Cookie> = flows.iter().map(|flow| flow.cookie).collect();
    assert_eq!(cookies.len(), flows.len());
    for flow in flows {
        assert_eq!((flow.matches.in_port, flow.cookie.port()), (Some(port.number), Some(port.number)));
        assert!(flow.matches.eth_src.is_some() || flow.action == Action::Drop, "{flow:?}");
    }
}

#[test]
fn only_a_trunk_forwards_tags() {
    let tagged = |port: &GuardedPort| forwarded(port).iter().filter(|matches| matches.vlan == Vlan::Any).count();
    let access = port(&["10.9.0.10", "fd09::a"]);
    assert_eq!(tagged(&access), 0);
    let trunk = GuardedPort { is_trunk: true, ..access };
    assert_eq!(tagged(&trunk), forwarded(&trunk).len());
}

#[test]
fn a_pair_of_the_ports_mac_address_is_one_more_address() {
    let pair = with_pair(port(&["10.9.0.10"]), ("10.9.0.100", "02:00:00:00:00:0a"));
    assert_eq!(flows(&pair), flows(&port(&["10.9.0.10", "10.9.0.100"])));
}

#[test]
fn a_virtual_mac_address_has_the_addresses_of_the_port_as_well() {
    let virtual_mac = "00:00:5e:00:01:05";
    let router = with_pair(port(&["10.9.0.10"]), ("10.9.0.100", virtual_mac));
    let of_mac = |octets: [u8; 6]| {
        let matches = forwarded(&router).into_iter().filter(move |matches| matches.eth_src == Some(octets.into()));
        matches.map(|matches| matches.payload).filter(|payload| matches!(payload, Payload::Ipv4(_))).count()
    };
    assert_eq!(of_mac(mac(virtual_mac).octets()), 2);
    assert_eq!(of_mac(router.mac.octets()), 1, "the virtual address is not used with the port's own one");
}

#[test]
fn addresses_that_no_host_has_are_left_out() {
    for address in ["0.0.0.0", "255.255.255.255", "224.0.0.1", "::", "ff02::1"] {
        assert_eq!(flows(&port(&[address])), flows(&port(&[])), "{address}");
    }
}

#[test]
fn refused_frames_are_those_of_all_flows_of_the_port_that_drop() {
    let of = |number| GuardedPort { number: PortNumber::new(number).unwrap(), ..port(&["10.9.0.10"]) };
    let both = [flows(&of(7)), flows(&of(8))].concat();
    let installed: Vec<InstalledFlow> = both
        .into_iter()
        .map(|Flow { table, priority, cookie, matches, action }| {
            let (matches, instructions) = (matches.encode(), action.encode());
            InstalledFlow { table, priority, cookie, matches, instructions, packets: 5, bytes: 300 }
        })
        .collect();
    assert_eq!(refused_frames(PortNumber::new(7).unwrap(), &installed), 15);
    assert_eq!(refused_frames(PortNumber::new(9).unwrap(), &installed), 0);
}
