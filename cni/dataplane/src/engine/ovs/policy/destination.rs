//! Table 11: the destination of frames, and which of them are looked up in the connections.

use super::port::Isolated;
use super::step::{
    CONNECTION, DESTINATION, DESTINATION_PORT, FORWARD, IS_RESTRICTED, MULTICAST, OUTPUT_PORT, flow, fragments,
    packets, refusal, to, with,
};
use usnet_openflow::flow::{Flow, Match, Payload, Step};

const FRAGMENTS: u16 = 120;
const FRAGMENTS_TO_OTHERS: u16 = 115;
const TO_SEVERAL: u16 = 110;
const TO_ISOLATED: u16 = 100;
const FROM_ISOLATED: u16 = 90;
const OTHER_PROTOCOLS: u16 = 80;
const REST: u16 = 0;

/// The flows of every bridge.
pub(super) fn fixed(zone: u16) -> Vec<Flow> {
    let mut flows = Vec::new();
    let mut add = |priority, matches, steps, next| flows.push(flow(DESTINATION, priority, matches, steps, next));
    for payload in fragments() {
        add(FRAGMENTS, with(IS_RESTRICTED, 1, payload), Vec::new(), None);
        // Isolated ports do not get what is flooded.
        add(FRAGMENTS_TO_OTHERS, to(MULTICAST, payload), Vec::new(), Some(FORWARD));
    }
    for payload in packets() {
        add(TO_SEVERAL, to(MULTICAST, payload), vec![track(zone)], None);
        add(FROM_ISOLATED, with(IS_RESTRICTED, 1, payload), vec![track(zone)], None);
    }
    add(REST, Match::default(), Vec::new(), Some(FORWARD));
    flows
}

/// The flows of an isolated port.
pub(super) fn of_port(port: &Isolated, zone: u16) -> Vec<Flow> {
    let Some(mac) = port.own_mac() else { return Vec::new() };
    let (number, mut flows) = (port.register(), Vec::new());
    for payload in packets() {
        let steps = vec![Step::Set(DESTINATION_PORT, number), Step::Set(OUTPUT_PORT, number), track(zone)];
        flows.push(flow(DESTINATION, TO_ISOLATED, to(mac, payload), steps, None));
    }
    flows.push(flow(DESTINATION, OTHER_PROTOCOLS, to(mac, Payload::Any), Vec::new(), None));
    flows.extend(fragments().map(|payload| refusal(port.number, DESTINATION, FRAGMENTS, to(mac, payload))));
    flows
}

const fn track(zone: u16) -> Step {
    Step::Track { zone, table: CONNECTION }
}

/// Whether a flow is one of those that look packets to several receivers up.
pub(super) fn is_of_zone(flow: &Flow) -> bool {
    (flow.table, flow.priority) == (DESTINATION, TO_SEVERAL)
}
