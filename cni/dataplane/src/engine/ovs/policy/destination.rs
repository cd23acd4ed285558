//! Table 11: the destination of frames, and which of them are looked up in the connections.

use super::port::Subjects;
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

pub(super) fn flows(subjects: &Subjects<'_>, zone: u16) -> Vec<Flow> {
    let track = Step::Track { zone, table: CONNECTION };
    let mut flows = Vec::new();
    let mut add = |priority, matches, steps, next| flows.push(flow(DESTINATION, priority, matches, steps, next));
    for payload in fragments() {
        add(FRAGMENTS, with(IS_RESTRICTED, 1, payload), Vec::new(), None);
        // Isolated ports do not get what is flooded.
        add(FRAGMENTS_TO_OTHERS, to(MULTICAST, payload), Vec::new(), Some(FORWARD));
    }
    for payload in packets() {
        add(TO_SEVERAL, to(MULTICAST, payload), vec![track], None);
        add(FROM_ISOLATED, with(IS_RESTRICTED, 1, payload), vec![track], None);
    }
    for (port, mac) in subjects.with_mac() {
        for payload in packets() {
            let number = port.register();
            let steps = vec![Step::Set(DESTINATION_PORT, number), Step::Set(OUTPUT_PORT, number), track];
            add(TO_ISOLATED, to(mac, payload), steps, None);
        }
        add(OTHER_PROTOCOLS, to(mac, Payload::Any), Vec::new(), None);
    }
    add(REST, Match::default(), Vec::new(), Some(FORWARD));
    for (port, mac) in subjects.with_mac() {
        let refused = |payload| refusal(port.number, DESTINATION, FRAGMENTS, to(mac, payload));
        flows.extend(fragments().map(refused));
    }
    flows
}

/// Whether a flow is one of those that look packets to several receivers up.
pub(super) fn is_of_zone(flow: &Flow) -> bool {
    (flow.table, flow.priority) == (DESTINATION, TO_SEVERAL)
}
