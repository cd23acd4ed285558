//! Tables 10 and 12: closed ports, what needs no rule, and the source of other frames.

use super::flood::Flood;
use super::port::Subjects;
use super::step::{CLASSIFY, DESTINATION, FORWARD, IS_RESTRICTED, MULTICAST, NEIGHBOR, SOURCE_PORT, flow, refusal, to};
use usnet_openflow::flow::{Arp, Flow, Icmpv6, Ipv6, Ipv6Payload, Match, Output, Payload, Step};

const CLOSED: u16 = 200;
const NEIGHBORS: u16 = 150;
const FROM_ISOLATED: u16 = 100;
const TO_SEVERAL: u16 = 110;
const TO_ISOLATED: u16 = 100;
const REST: u16 = 0;

/// Listeners of groups (RFC 2710, RFC 3810) and neighbor discovery (RFC 4861).
const NEIGHBOR_TYPES: [u8; 9] = [130, 131, 132, 133, 134, 135, 136, 137, 143];

pub(super) fn flows(subjects: &Subjects<'_>, flood: &Flood) -> Vec<Flow> {
    let from = |number| Match { in_port: Some(number), ..Match::default() };
    let closed = subjects.closed.iter().map(|number| refusal(*number, CLASSIFY, CLOSED, from(*number)));
    let mut flows: Vec<Flow> = closed.collect();
    let mut add = |priority, matches, steps, next| flows.push(flow(CLASSIFY, priority, matches, steps, next));
    for mac in &subjects.refused_macs {
        add(CLOSED, to(mac.octets(), Payload::Any), Vec::new(), None);
    }
    for payload in neighbors() {
        add(NEIGHBORS, Match { payload, ..Match::default() }, Vec::new(), Some(NEIGHBOR));
    }
    for port in &subjects.isolated {
        let steps = vec![Step::Set(SOURCE_PORT, port.register()), Step::Set(IS_RESTRICTED, 1)];
        add(FROM_ISOLATED, from(port.number), steps, Some(DESTINATION));
    }
    add(REST, Match::default(), Vec::new(), Some(DESTINATION));
    flows.push(flow(NEIGHBOR, TO_SEVERAL, to(MULTICAST, Payload::Any), flood.neighbor_steps(), None));
    for (port, mac) in subjects.with_mac() {
        let steps = vec![Step::Output(Output::Port(port.number))];
        flows.push(flow(NEIGHBOR, TO_ISOLATED, to(mac, Payload::Any), steps, None));
    }
    flows.push(flow(NEIGHBOR, REST, Match::default(), Vec::new(), Some(FORWARD)));
    flows
}

/// Without which no packet finds its receiver.
fn neighbors() -> impl Iterator<Item = Payload> {
    let icmp = |number| Payload::Ipv6(Ipv6 { payload: Ipv6Payload::Icmp(Icmpv6::Type(number)), ..Ipv6::default() });
    NEIGHBOR_TYPES.into_iter().map(icmp).chain([Payload::Arp(Arp::default())])
}
