//! Tables 10 and 12: closed ports, what needs no rule, and the source of other frames.

use super::flood::Flood;
use super::port::Isolated;
use super::step::{CLASSIFY, DESTINATION, FORWARD, IS_RESTRICTED, MULTICAST, NEIGHBOR, SOURCE_PORT, flow, refusal, to};
use usnet_crds::MacAddress;
use usnet_openflow::PortNumber;
use usnet_openflow::flow::{Arp, Flow, Icmpv6, Ipv6, Ipv6Payload, Match, Output, Payload, Step};

const CLOSED: u16 = 200;
const NEIGHBORS: u16 = 150;
const FROM_ISOLATED: u16 = 100;
const TO_SEVERAL: u16 = 110;
const TO_ISOLATED: u16 = 100;
const REST: u16 = 0;

/// Listeners of groups (RFC 2710, RFC 3810) and neighbor discovery (RFC 4861).
const NEIGHBOR_TYPES: [u8; 9] = [130, 131, 132, 133, 134, 135, 136, 137, 143];

/// The flows of every bridge.
pub(super) fn fixed(flood: &Flood<'_>) -> Vec<Flow> {
    let neighbor =
        |payload| flow(CLASSIFY, NEIGHBORS, Match { payload, ..Match::default() }, Vec::new(), Some(NEIGHBOR));
    let mut flows: Vec<Flow> = neighbors().map(neighbor).collect();
    flows.extend([
        flow(CLASSIFY, REST, Match::default(), Vec::new(), Some(DESTINATION)),
        flow(NEIGHBOR, TO_SEVERAL, to(MULTICAST, Payload::Any), flood.neighbor_steps(), None),
        flow(NEIGHBOR, REST, Match::default(), Vec::new(), Some(FORWARD)),
    ]);
    flows
}

/// The flow of a closed port.
pub(super) fn closed(number: PortNumber) -> Flow {
    refusal(number, CLASSIFY, CLOSED, from(number))
}

/// The flow of a MAC address to which nothing is sent.
pub(super) fn refused_mac(mac: MacAddress) -> Flow {
    flow(CLASSIFY, CLOSED, to(mac.octets(), Payload::Any), Vec::new(), None)
}

/// The flows of an isolated port.
pub(super) fn of_port(port: &Isolated) -> Vec<Flow> {
    let steps = vec![Step::Set(SOURCE_PORT, port.register()), Step::Set(IS_RESTRICTED, 1)];
    let mut flows = vec![flow(CLASSIFY, FROM_ISOLATED, from(port.number), steps, Some(DESTINATION))];
    flows.extend(port.own_mac().map(|mac| {
        let steps = vec![Step::Output(Output::Port(port.number))];
        flow(NEIGHBOR, TO_ISOLATED, to(mac, Payload::Any), steps, None)
    }));
    flows
}

fn from(number: PortNumber) -> Match {
    Match { in_port: Some(number), ..Match::default() }
}

/// Without which no packet finds its receiver.
fn neighbors() -> impl Iterator<Item = Payload> {
    let icmp = |number| Payload::Ipv6(Ipv6 { payload: Ipv6Payload::Icmp(Icmpv6::Type(number)), ..Ipv6::default() });
    NEIGHBOR_TYPES.into_iter().map(icmp).chain([Payload::Arp(Arp::default())])
}
