//! Tables 20, 39 and 40: what connections say of packets, and where packets go.

use super::step::{
    CONNECTION, DELIVER, DESTINATION_PORT, FORWARD, IS_COPY, MULTICAST, NORMAL, OUTPUT_PORT, SOURCE_PORT, SPARE, flow,
    packets, with,
};
use usnet_openflow::flow::{ConnectionState, Flow, Match, Payload, Step};

/// The flows of every bridge, by which packets of connections go to the table `rules`.
pub(super) fn fixed(zone: u16, rules: u8) -> Vec<Flow> {
    let forward = flow(FORWARD, 0, Match::default(), vec![NORMAL], None);
    states(rules).into_iter().chain(deliveries(zone)).chain([forward]).collect()
}

/// Packets of no connection are dropped, and those that are about one pass. Rules are compared with
/// the first packet of a connection, and so the ports of an answer change places. An answer goes to
/// one receiver.
fn states(rules: u8) -> [Flow; 6] {
    let state = |connection| Match { connection, ..Match::default() };
    let to_several = Match { eth_dst: Some(MULTICAST), ..state(ConnectionState::Reply) };
    let exchange = vec![
        Step::Copy { from: SOURCE_PORT, to: SPARE },
        Step::Copy { from: DESTINATION_PORT, to: SOURCE_PORT },
        Step::Copy { from: SPARE, to: DESTINATION_PORT },
    ];
    [
        flow(CONNECTION, 100, state(ConnectionState::Invalid), Vec::new(), None),
        flow(CONNECTION, 99, state(ConnectionState::Untracked), Vec::new(), None),
        flow(CONNECTION, 90, state(ConnectionState::Related), Vec::new(), Some(DELIVER)),
        flow(CONNECTION, 85, to_several, Vec::new(), None),
        flow(CONNECTION, 80, state(ConnectionState::Reply), exchange, Some(rules)),
        flow(CONNECTION, 0, Match::default(), Vec::new(), Some(rules)),
    ]
}

/// A copy goes to its port, and a packet to an isolated port if it is for one. What is sent to
/// several receivers begins no connection.
fn deliveries(zone: u16) -> Vec<Flow> {
    let new = |registers: Match| Match { connection: ConnectionState::New, ..registers };
    let commit = Step::Commit { zone };
    let output = Step::OutputRegister(OUTPUT_PORT);
    let copy = Step::OutputRegister(DESTINATION_PORT);
    let mut flows = vec![
        flow(DELIVER, 100, with(IS_COPY, 1, Payload::Any), vec![copy], None),
        flow(DELIVER, 70, with(OUTPUT_PORT, 0, Payload::Any), Vec::new(), Some(FORWARD)),
        flow(DELIVER, 0, Match::default(), vec![output], None),
    ];
    for payload in packets() {
        let of_others = new(with(OUTPUT_PORT, 0, payload));
        flows.push(flow(DELIVER, 90, of_others, vec![commit, NORMAL], None));
        flows.push(flow(DELIVER, 80, new(Match { payload, ..Match::default() }), vec![commit, output], None));
    }
    flows
}
