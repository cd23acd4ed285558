//! Finds the programs that had connected last when their engine ended. A program can crash its
//! engine: DPDK's vhost library trusts the memory that a pod shares, and VPP's memif trusts its
//! messages. Pure; time is passed in.

use crate::model::engine_view::EngineView;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node::engine_ended;
use usnet_crds::node_state::EngineEnd;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::observed::Peer;

/// How long after an end of the engine a program may reconnect without counting as a new one. All
/// programs reconnect within seconds then, and the one that ended the engine would no longer be
/// among the last.
const RECONNECT: Duration = Duration::from_secs(30);
/// The maximum number of connected programs, and of unconnected ones, that a message names.
const NAMED_MAX: usize = 3;

/// The programs of the pods that are attached to one engine, and the last end of the engine.
#[derive(Debug, Default)]
pub(crate) struct LastConnected {
    programs: BTreeMap<AttachmentId, Program>,
    /// Since when the engine is down.
    down_since: Option<Instant>,
    /// Whether the engine was up since its last end. An engine that was never up cannot end.
    was_up: bool,
    reconnect_until: Option<Instant>,
    last_end: Option<EngineEnd>,
}

/// The pod's end of one port.
#[derive(Debug)]
struct Program {
    pod: String,
    is_connected: bool,
    /// Since when the program is connected, or is not.
    since: Instant,
}

impl LastConnected {
    /// Updates the programs from an observation. While the engine is down nothing is known about
    /// them.
    pub(crate) fn update(&mut self, records: &[Record], view: &EngineView, now: Instant) {
        let EngineView::Up(engine) = view else {
            self.down_since.get_or_insert(now);
            return;
        };
        (self.down_since, self.was_up) = (None, true);
        let is_reconnecting = self.reconnect_until.is_some_and(|until| now < until);
        let ports = engine.observed.bridges.values().flat_map(|bridge| bridge.ports.values());
        let connected = ports.filter(|port| port.peer == Peer::Connected);
        let connected: BTreeSet<&AttachmentId> =
            connected.filter_map(|port| port.owner.as_ref()?.attachment()).collect();
        let records: BTreeMap<&AttachmentId, &Record> =
            records.iter().filter(|record| has_program(record)).map(|record| (&record.id, record)).collect();
        self.programs.retain(|id, _| records.contains_key(id));
        for (id, record) in records {
            let is_connected = connected.contains(id);
            let program = self.programs.entry(id.clone()).or_insert_with(|| Program {
                pod: format!("{} ({})", record.pod, id.interface),
                is_connected,
                since: now,
            });
            let is_back_soon = program.is_connected && is_reconnecting;
            if program.is_connected != is_connected && !is_back_soon {
                (program.is_connected, program.since) = (is_connected, now);
            }
        }
    }

    /// Called when the process of the engine was found to have ended. Returns the end if it was not
    /// reported yet.
    pub(crate) fn on_end(&mut self, engine: EngineKind, now: Instant) -> Option<&EngineEnd> {
        self.reconnect_until = Some(now + RECONNECT);
        if !std::mem::take(&mut self.was_up) {
            return None;
        }
        let ended = self.down_since.unwrap_or(now);
        let newest = |is_connected: bool| {
            let mut programs: Vec<&Program> =
                self.programs.values().filter(|program| program.is_connected == is_connected).collect();
            programs.sort_by_key(|program| std::cmp::Reverse(program.since));
            programs.truncate(NAMED_MAX);
            programs
        };
        let before = |program: &Program| (program.pod.clone(), ended.saturating_duration_since(program.since));
        let connected: Vec<_> = newest(true).into_iter().map(before).collect();
        let waiting: Vec<&str> = newest(false).into_iter().map(|program| program.pod.as_str()).collect();
        let message = engine_ended(engine, &connected, &waiting);
        let number = self.last_end.as_ref().map_or(1, |last| last.number.saturating_add(1));
        Some(self.last_end.insert(EngineEnd { engine, number, message }))
    }

    /// The last end of the engine; none if it did not end since the agent was started.
    pub(crate) fn last_end(&self) -> Option<&EngineEnd> {
        self.last_end.as_ref()
    }
}

/// Whether a program of the pod connects to the port.
fn has_program(record: &Record) -> bool {
    record.progress == Progress::Attached && !record.port.backend.is_of_kernel()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::engine_view::{EngineUp, Outage};
    use crate::testing::{bridge_of, network, port_of, record};
    use usnet_dataplane::observed::{Observed, ObservedPort};

    const ENGINE: EngineKind = EngineKind::OpenVswitch;

    /// The engine with the ports of these pods, each with or without a connected program.
    fn up(pods: &[(&Record, bool)]) -> EngineView {
        let (name, mut bridge) = bridge_of(&network("blue"));
        for (record, is_connected) in pods {
            let peer = if *is_connected { Peer::Connected } else { Peer::Absent };
            bridge.ports.insert(record.port.name.clone(), ObservedPort { peer, ..port_of(record) });
        }
        let observed = Observed { bridges: [(name, bridge)].into(), ..Observed::default() };
        EngineView::Up(EngineUp { observed: observed.into(), version: None, warning: None })
    }

    fn pods<const N: usize>(containers: [&str; N]) -> [Record; N] {
        containers.map(|container| record(container, &network("blue")))
    }

    fn down() -> EngineView {
        EngineView::Down(Outage::unknown(ENGINE))
    }

    #[test]
    fn the_programs_that_connected_last_are_named_first() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let pods = pods(["c1", "c2", "c3"]);
        let [one, two, three] = &pods;
        let mut last = LastConnected::default();
        assert!(last.on_end(ENGINE, at(0)).is_none(), "it was never seen");
        last.update(&pods, &up(&[(one, true), (two, false), (three, false)]), at(0));
        last.update(&pods, &up(&[(one, true), (two, true), (three, false)]), at(98));
        last.update(&pods, &down(), at(100));
        let end = last.on_end(ENGINE, at(101)).cloned().unwrap();
        assert_eq!((end.engine, end.number), (ENGINE, 1));
        let named = "default/c2 (net1) 2 s before, default/c1 (net1) 100 s before";
        assert!(end.message.contains(named), "{}", end.message);
        assert!(end.message.contains("not connected: default/c3 (net1)"), "{}", end.message);
        assert!(last.on_end(ENGINE, at(102)).is_none(), "it is the same end");
        assert_eq!(last.last_end(), Some(&end));
    }

    #[test]
    fn a_program_that_connects_again_after_an_end_is_no_new_one() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let pods = pods(["c1", "c2"]);
        let [one, two] = &pods;
        let (neither, both) = (up(&[(one, false), (two, false)]), up(&[(one, true), (two, true)]));
        let mut last = LastConnected::default();
        last.update(&pods, &up(&[(one, true), (two, false)]), at(0));
        last.update(&pods, &both, at(98));
        let _first = last.on_end(ENGINE, at(100)).cloned().unwrap();
        last.update(&pods, &neither, at(101));
        last.update(&pods, &up(&[(one, true), (two, false)]), at(102));
        last.update(&pods, &both, at(103));
        let second = last.on_end(ENGINE, at(105)).cloned().unwrap();
        assert_eq!(second.number, 2);
        assert!(second.message.contains("default/c2 (net1) 7 s before, default/c1 (net1) 105 s before"), "{second:?}");
        // What does not come back is not connected, and what comes later is new.
        last.update(&pods, &neither, at(106));
        last.update(&pods, &neither, at(140));
        last.update(&pods, &up(&[(one, true), (two, false)]), at(150));
        let third = last.on_end(ENGINE, at(151)).cloned().unwrap();
        assert!(third.message.contains("default/c1 (net1) 1 s before; not connected: default/c2 (net1)"), "{third:?}");
    }

    #[test]
    fn only_programs_of_attached_pods_are_named_and_few_of_them() {
        let start = Instant::now();
        let mut pods = pods(["c1", "c2", "c3", "c4", "c5", "c6"]);
        pods[0].progress = Progress::Detached;
        let mut last = LastConnected::default();
        last.update(&pods, &up(&[]), start);
        let named = last.on_end(ENGINE, start).unwrap().message.matches("default/").count();
        assert_eq!(named, NAMED_MAX);
        last.update(&[], &up(&[]), start);
        let message = last.on_end(ENGINE, start).unwrap().message.clone();
        assert!(!message.contains("default/"), "{message}");
    }
}
