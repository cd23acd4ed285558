//! Ports of attached pods to which no program has been connected for some time. Most programs
//! connect within seconds of their pod's start; one that takes the wrong side never does. Pure;
//! time is passed in.

use crate::agent::model::engine_view::EngineView;
use crate::agent::model::health::Why;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use usnet_crds::conditions::message::node::{PodSocket, not_connected};
use usnet_crds::conditions::reason::NOT_CONNECTED;
use usnet_crds::{EngineKind, SocketRole};
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::observed::Peer;
use usnet_dataplane::port::PortBackend;

/// How long a program may take to connect before it is reported. Starting one with DPDK takes
/// seconds; a shorter time would report pods that only start slowly.
const PATIENCE: Duration = Duration::from_secs(30);

/// The ports without a connected program, and since when.
#[derive(Debug)]
pub(crate) struct UnconnectedPorts {
    since: BTreeMap<AttachmentId, Instant>,
    /// What is where the program should listen.
    look: fn(&Record) -> PodSocket,
}

impl UnconnectedPorts {
    /// None is known yet.
    pub(crate) fn new(look: fn(&Record) -> PodSocket) -> Self {
        Self { since: BTreeMap::new(), look }
    }

    /// Updates them from what was observed; returns those to report, and why. While the engine is
    /// down nothing is known of its ports.
    pub(crate) fn update(
        &mut self,
        engine: EngineKind,
        records: &[Record],
        view: &EngineView,
        now: Instant,
    ) -> BTreeMap<AttachmentId, Why> {
        let absent = absent_peers(view);
        let attached = records.iter().filter(|record| record.progress == Progress::Attached);
        let waiting: BTreeMap<&AttachmentId, &Record> =
            attached.map(|record| (&record.id, record)).filter(|(id, _)| absent.contains(id)).collect();
        self.since.retain(|id, _| waiting.contains_key(id));
        let mut overdue = BTreeMap::new();
        for (id, record) in waiting {
            let Some(pod_listens) = pod_listens(record) else { continue };
            let since = *self.since.entry(id.clone()).or_insert(now);
            if now >= since + PATIENCE {
                // An engine that connects tries it more often than this time.
                let found = if pod_listens { (self.look)(record) } else { PodSocket::OfEngine };
                overdue.insert(id.clone(), Why { reason: NOT_CONNECTED, message: message(engine, record, found) });
            }
        }
        overdue
    }

    /// When the next one is to be reported.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.since.values().map(|since| *since + PATIENCE).filter(|due| *due > now).min()
    }
}

/// The attachments whose port exists and has no peer.
fn absent_peers(view: &EngineView) -> BTreeSet<&AttachmentId> {
    let EngineView::Up(engine) = view else { return BTreeSet::new() };
    let ports = engine.observed.bridges.values().flat_map(|bridge| bridge.ports.values());
    let absent = ports.filter(|port| port.peer == Peer::Absent);
    absent.filter_map(|port| port.owner.as_ref()?.attachment()).collect()
}

/// Whether the program listens, and the engine connects to it; none for a port without a program.
fn pod_listens(record: &Record) -> Option<bool> {
    match &record.port.backend {
        PortBackend::VhostUser { engine_role, .. } => Some(*engine_role == SocketRole::Client),
        PortBackend::Memif { .. } => Some(false),
        PortBackend::Veth { .. } => None,
    }
}

fn message(engine: EngineKind, record: &Record, found: PodSocket) -> String {
    let file = record.port.backend.socket_file().and_then(Path::file_name);
    let socket = file.map_or_else(|| "its abstract socket".into(), |name| name.to_string_lossy());
    not_connected(&record.id.interface, engine, &socket, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::model::engine_view::{EngineUp, Outage};
    use crate::agent::testing::{bridge_of, network, port_of, record};
    use usnet_dataplane::observed::{Observed, ObservedPort};
    use usnet_dataplane::port::DeviceName;

    fn view(records: &[Record], peer: Peer) -> EngineView {
        let (name, mut bridge) = bridge_of(&network("blue"));
        for record in records {
            bridge.ports.insert(record.port.name.clone(), ObservedPort { peer, ..port_of(record) });
        }
        EngineView::Up(EngineUp {
            observed: Observed { bridges: [(name, bridge)].into(), ..Observed::default() }.into(),
            version: None,
        })
    }

    fn reported(ports: &mut UnconnectedPorts, records: &[Record], view: &EngineView, now: Instant) -> Vec<String> {
        let reported = ports.update(EngineKind::OpenVswitch, records, view, now).into_iter();
        reported.map(|(id, why)| format!("{id}: {}", why.message)).collect()
    }

    #[test]
    fn a_port_is_reported_once_its_program_has_not_connected_for_too_long() {
        let start = Instant::now();
        let late = start + PATIENCE;
        let mut ports = UnconnectedPorts::new(|_| PodSocket::Absent);
        let pod = [record("c1", &network("blue"))];
        let (absent, connected) = (view(&pod, Peer::Absent), view(&pod, Peer::Connected));
        assert!(reported(&mut ports, &pod, &absent, start).is_empty());
        assert_eq!(ports.next_due(start), Some(late));
        assert!(reported(&mut ports, &pod, &absent, late - Duration::from_millis(1)).is_empty());
        let text = reported(&mut ports, &pod, &absent, late).remove(0);
        assert!(text.starts_with("c1.net1: interface net1") && text.contains("has to listen on net1.sock"), "{text}");
        assert_eq!(ports.next_due(late), None, "nothing is written again while it stays so");
        assert!(reported(&mut ports, &pod, &connected, late).is_empty());
        assert!(reported(&mut ports, &pod, &absent, late).is_empty(), "it was connected until now");
        assert_eq!(ports.next_due(late), Some(late + PATIENCE));
        let down = EngineView::Down(Outage::unknown(EngineKind::OpenVswitch));
        assert!(reported(&mut ports, &pod, &down, late + PATIENCE).is_empty());
        assert!(reported(&mut ports, &pod, &absent, late + PATIENCE).is_empty(), "the engine was down");
    }

    #[test]
    fn what_is_at_the_socket_is_said() {
        let start = Instant::now();
        let pod = [record("c1", &network("blue"))];
        let absent = view(&pod, Peer::Absent);
        let said = |look| {
            let mut ports = UnconnectedPorts::new(look);
            let _first = reported(&mut ports, &pod, &absent, start);
            reported(&mut ports, &pod, &absent, start + PATIENCE).remove(0)
        };
        let abandoned = said(|_| PodSocket::Abandoned);
        assert!(abandoned.contains("was killed") && abandoned.contains("remove it before the start"), "{abandoned}");
        assert!(said(|_| PodSocket::Absent).contains("there is no socket"));
        assert!(said(|_| PodSocket::Other).contains("is no socket"));
        let unknown = said(|_| PodSocket::Unknown);
        assert!(unknown.contains("has to listen on net1.sock") && !unknown.contains("there is"), "{unknown}");
    }

    #[test]
    fn only_ports_of_attached_pods_with_a_socket_count() {
        let start = Instant::now();
        let mut ports = UnconnectedPorts::new(|_| PodSocket::Absent);
        let mut attaching = record("c1", &network("blue"));
        attaching.progress = Progress::Attaching;
        let mut veth = record("c2", &network("blue"));
        veth.port.backend = PortBackend::Veth { device: DeviceName::of(&veth.id) };
        let pods = [attaching, veth];
        let _first = reported(&mut ports, &pods, &view(&pods, Peer::Absent), start);
        assert_eq!(ports.next_due(start), None);
        assert!(reported(&mut ports, &pods, &view(&pods, Peer::Absent), start + PATIENCE).is_empty());
    }
}
