//! Finds ports for whose packets their engine has no memory. The engine's own error stays with the
//! port until it works: whenever the engine tries again it ends the connection of the program, and
//! the port looks like one that no program ever connected to. Pure; time is passed in.

use crate::model::engine_view::{EngineUp, EngineView};
use crate::model::health::Cause;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node::no_memory;
use usnet_crds::conditions::reason::NO_MEMORY;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::observed::{ElementState, ObservedPort, Peer};

/// How long a port is observed before it is reported. One that works looks the same for an instant
/// when its program connects, and for up to 4 s after a restart of Open vSwitch.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct PortsWithoutMemory(BTreeMap<AttachmentId, Finding>);

#[derive(Debug, Clone, Copy)]
struct Finding {
    first: Instant,
    last: Instant,
}

impl Finding {
    fn is_certain(self) -> bool {
        self.last.saturating_duration_since(self.first) >= PATIENCE
    }
}

impl PortsWithoutMemory {
    /// Updates the ports from an observation; returns those to report, and why. An engine that was
    /// down may have been started with more memory.
    pub(super) fn update(
        &mut self,
        engine: EngineKind,
        records: &[Record],
        view: &EngineView,
        now: Instant,
    ) -> BTreeMap<AttachmentId, Cause> {
        let EngineView::Up(up) = view else {
            self.0.clear();
            return BTreeMap::new();
        };
        let attached: BTreeSet<&AttachmentId> =
            records.iter().filter(|record| record.progress == Progress::Attached).map(|record| &record.id).collect();
        let ports = ports(up);
        let is_without = |port: &ObservedPort| port.state == ElementState::NoMemory;
        // Before the old findings are removed: an observation that is due comes late by nature.
        for (id, _) in ports.iter().filter(|(id, port)| is_without(port) && attached.contains(*id)) {
            self.0.entry((*id).clone()).or_insert(Finding { first: now, last: now }).last = now;
        }
        self.0.retain(|id, finding| {
            let works = ports.get(id).is_some_and(|port| works(port));
            let is_recent = now.saturating_duration_since(finding.last) <= PATIENCE;
            attached.contains(id) && !works && (finding.is_certain() || is_recent)
        });
        let certain = self.0.iter().filter(|(_, finding)| finding.is_certain());
        let cause = |id: &AttachmentId| Cause { reason: NO_MEMORY, message: no_memory(&id.interface, engine) };
        certain.map(|(id, _)| (id.clone(), cause(id))).collect()
    }

    /// When the next port becomes due for a report.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.0.values().map(|finding| finding.first + PATIENCE).filter(|due| *due > now).min()
    }
}

fn works(port: &ObservedPort) -> bool {
    port.state == ElementState::Running && port.peer == Peer::Connected
}

/// The ports of attachments.
fn ports(engine: &EngineUp) -> BTreeMap<&AttachmentId, &ObservedPort> {
    let ports = engine.observed.bridges.values().flat_map(|bridge| bridge.ports.values());
    ports.filter_map(|port| Some((port.owner.as_ref()?.attachment()?, port))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::engine_view::Outage;
    use crate::testing::{bridge_of, network, port_of, record};
    use usnet_dataplane::observed::Observed;

    const WITHOUT: (ElementState, Peer) = (ElementState::NoMemory, Peer::Connected);
    const ABSENT: (ElementState, Peer) = (ElementState::Running, Peer::Absent);
    const WORKS: (ElementState, Peer) = (ElementState::Running, Peer::Connected);

    fn view((state, peer): (ElementState, Peer)) -> EngineView {
        let (name, mut bridge) = bridge_of(&network("blue"));
        let record = record("c1", &network("blue"));
        bridge.ports.insert(record.port.name.clone(), ObservedPort { state, peer, ..port_of(&record) });
        let observed = Observed { bridges: [(name, bridge)].into(), ..Observed::default() };
        EngineView::Up(EngineUp { observed: observed.into(), version: None, warning: None })
    }

    /// The ports with the pod `c1`, and the time of second 0.
    struct Scene(PortsWithoutMemory, Instant);

    impl Scene {
        fn new() -> Self {
            Self(PortsWithoutMemory::default(), Instant::now())
        }

        fn reported_in(&mut self, second: u64, view: &EngineView) -> Option<String> {
            let (pods, now) = ([record("c1", &network("blue"))], self.1 + Duration::from_secs(second));
            let mut causes = self.0.update(EngineKind::OpenVswitch, &pods, view, now);
            causes.remove(&pods[0].id).map(|cause| format!("{}: {}", cause.reason, cause.message))
        }

        fn reported(&mut self, second: u64, port: (ElementState, Peer)) -> Option<String> {
            self.reported_in(second, &view(port))
        }
    }

    #[test]
    fn the_error_of_the_engine_stays_until_the_port_works() {
        let mut scene = Scene::new();
        assert_eq!(scene.reported(0, WITHOUT), None);
        assert_eq!(scene.0.next_due(scene.1), Some(scene.1 + PATIENCE));
        let text = scene.reported(5, WITHOUT).unwrap();
        assert!(text.starts_with("NoMemory: interface net1: Open vSwitch has no DPDK memory"), "{text}");
        assert!(text.contains("other_config:dpdk-socket-mem"), "{text}");
        assert_eq!(scene.0.next_due(scene.1 + PATIENCE), None, "nothing is written again while it stays so");
        assert_eq!(scene.reported(60, ABSENT).as_ref(), Some(&text), "the engine ended the connection");
        assert_eq!(scene.reported(600, WITHOUT), Some(text));
        assert_eq!(scene.reported(601, WORKS), None);
        assert_eq!(scene.reported(700, ABSENT), None, "it worked until now");
    }

    #[test]
    fn an_observation_that_comes_later_than_it_is_due_counts() {
        let mut scene = Scene::new();
        assert_eq!(scene.reported(0, WITHOUT), None);
        assert!(scene.reported(6, WITHOUT).is_some());
    }

    #[test]
    fn a_port_whose_program_just_connects_is_not_reported() {
        let mut scene = Scene::new();
        assert_eq!(scene.reported(0, WITHOUT), None);
        assert_eq!(scene.reported(4, WORKS), None);
        assert_eq!(scene.reported(5, WITHOUT), None);
        assert_eq!(scene.reported(20, ABSENT), None, "whether it had memory is not known");
        assert_eq!(scene.reported(21, WITHOUT), None);
        // The engine tries again and again, each time without the program for a moment.
        assert_eq!(scene.reported(23, ABSENT), None);
        assert!(scene.reported(26, WITHOUT).is_some());
    }

    #[test]
    fn nothing_is_known_once_the_engine_was_down_or_the_pod_is_gone() {
        let mut scene = Scene::new();
        let _first = scene.reported(0, WITHOUT);
        assert!(scene.reported(5, WITHOUT).is_some());
        assert_eq!(scene.reported_in(6, &EngineView::Down(Outage::unknown(EngineKind::OpenVswitch))), None);
        assert_eq!(scene.reported(7, ABSENT), None);
        let _first = scene.reported(10, WITHOUT);
        assert!(scene.reported(15, WITHOUT).is_some());
        let now = scene.1 + Duration::from_secs(16);
        assert!(scene.0.update(EngineKind::OpenVswitch, &[], &view(WITHOUT), now).is_empty());
        assert!(scene.0.0.is_empty());
    }
}
