//! Finds ports of attached pods to which no program has been connected for some time, or whose
//! device on the node is gone. Most programs connect within seconds of their pod's start; a program
//! in the wrong role never does. Pure; time is passed in.

use crate::model::engine_view::EngineView;
use crate::model::health::Cause;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use usnet_crds::conditions::message::node::{PodSocket, device_missing, not_connected};
use usnet_crds::conditions::reason::{DEVICE_MISSING, NOT_CONNECTED};
use usnet_crds::{EngineKind, SocketRole};
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::observed::Peer;
use usnet_dataplane::port::DeviceName;

/// How long a program may take to connect before it is reported. A DPDK program takes seconds to
/// start; a shorter time would report pods that only start slowly.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a device may be missing before it is reported: DEL removes the device shortly before
/// its record.
const PATIENCE_FOR_DEVICE: Duration = Duration::from_secs(1);

/// The ports without a connected program or without their device, and when they are reported.
#[derive(Debug)]
pub(crate) struct UnconnectedPorts {
    due: BTreeMap<AttachmentId, Instant>,
    /// Inspects the socket at which the program should listen.
    look: fn(&Record) -> PodSocket,
}

impl UnconnectedPorts {
    pub(crate) fn new(look: fn(&Record) -> PodSocket) -> Self {
        Self { due: BTreeMap::new(), look }
    }

    /// Updates the ports from an observation; returns those to report, and why. While the engine is
    /// down nothing is known about its ports. `missing` are the attachments without their device.
    pub(crate) fn update<'r>(
        &mut self,
        engine: EngineKind,
        records: &'r [Record],
        view: &EngineView,
        missing: &BTreeSet<AttachmentId>,
        now: Instant,
    ) -> BTreeMap<AttachmentId, Cause> {
        let absent = absent_peers(view);
        let attached = records.iter().filter(|record| record.progress == Progress::Attached);
        let problem = |record: &'r Record| match record.port.backend.device() {
            Some(device) => missing.contains(&record.id).then_some(Problem::DeviceMissing(device)),
            None if absent.contains(&record.id) => Some(Problem::ProgramAbsent { pod_listens: pod_listens(record)? }),
            None => None,
        };
        let problems: BTreeMap<&AttachmentId, (&Record, Problem<'_>)> =
            attached.filter_map(|record| Some((&record.id, (record, problem(record)?)))).collect();
        self.due.retain(|id, _| problems.contains_key(id));
        let mut overdue = BTreeMap::new();
        for (id, (record, problem)) in problems {
            if now >= *self.due.entry(id.clone()).or_insert(now + problem.patience()) {
                overdue.insert(id.clone(), self.cause(engine, record, &problem));
            }
        }
        overdue
    }

    fn cause(&self, engine: EngineKind, record: &Record, problem: &Problem<'_>) -> Cause {
        match problem {
            Problem::DeviceMissing(device) => {
                Cause { reason: DEVICE_MISSING, message: device_missing(&record.id.interface, device) }
            }
            Problem::ProgramAbsent { pod_listens } => {
                // An engine that connects to pods has tried several times within the patience, so
                // that a socket that is still there is not served.
                let found = if *pod_listens { (self.look)(record) } else { PodSocket::OfEngine };
                Cause { reason: NOT_CONNECTED, message: message(engine, record, found) }
            }
        }
    }

    /// When the next port becomes due for a report.
    pub(crate) fn next_due(&self, now: Instant) -> Option<Instant> {
        self.due.values().copied().filter(|due| *due > now).min()
    }
}

fn absent_peers(view: &EngineView) -> BTreeSet<&AttachmentId> {
    let EngineView::Up(engine) = view else { return BTreeSet::new() };
    let ports = engine.observed.bridges.values().flat_map(|bridge| bridge.ports.values());
    let absent = ports.filter(|port| port.peer == Peer::Absent);
    absent.filter_map(|port| port.owner.as_ref()?.attachment()).collect()
}

#[derive(Debug)]
enum Problem<'r> {
    /// The device is gone, and with it the pod's end and its settings. It is not recreated under a
    /// running pod.
    DeviceMissing(&'r DeviceName),
    ProgramAbsent {
        pod_listens: bool,
    },
}

impl Problem<'_> {
    const fn patience(&self) -> Duration {
        match self {
            Self::DeviceMissing(_) => PATIENCE_FOR_DEVICE,
            Self::ProgramAbsent { .. } => PATIENCE,
        }
    }
}

/// Whether the program listens and the engine connects to it; none for a port without a program.
fn pod_listens(record: &Record) -> Option<bool> {
    Some(record.port.backend.of_pod()?.program_role()? == SocketRole::Server)
}

fn message(engine: EngineKind, record: &Record, found: PodSocket) -> String {
    let file = record.port.backend.socket_file().and_then(Path::file_name);
    let socket = file.map_or_else(|| "its abstract socket".into(), |name| name.to_string_lossy());
    not_connected(&record.id.interface, engine, &socket, found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::engine_view::{EngineUp, Outage};
    use crate::testing::{bridge_of, network, port_of, record};
    use usnet_dataplane::observed::{Observed, ObservedPort};
    use usnet_dataplane::port::PortBackend;

    fn view(records: &[Record], peer: Peer) -> EngineView {
        let (name, mut bridge) = bridge_of(&network("blue"));
        for record in records {
            bridge.ports.insert(record.port.name.clone(), ObservedPort { peer, ..port_of(record) });
        }
        EngineView::Up(EngineUp {
            observed: Observed { bridges: [(name, bridge)].into(), ..Observed::default() }.into(),
            version: None,
            warning: None,
        })
    }

    fn reported(ports: &mut UnconnectedPorts, records: &[Record], view: &EngineView, now: Instant) -> Vec<String> {
        let reported = ports.update(EngineKind::OpenVswitch, records, view, &BTreeSet::new(), now).into_iter();
        reported.map(|(id, cause)| format!("{id}: {}", cause.message)).collect()
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
    fn a_device_that_is_gone_is_reported_almost_at_once_and_one_that_the_engine_waits_for_is_not() {
        let start = Instant::now();
        let mut ports = UnconnectedPorts::new(|_| PodSocket::Absent);
        let mut pod = record("c1", &network("blue"));
        pod.port.backend = PortBackend::Device { device: DeviceName::of(&pod.id) };
        let pods = [pod.clone()];
        let mut update = |peer, missing: &BTreeSet<AttachmentId>, now| {
            let view = view(&pods, peer);
            let reported = ports.update(EngineKind::Vpp, &pods, &view, missing, now);
            reported.into_values().map(|cause| cause.reason).collect::<Vec<_>>()
        };
        let (gone, late): (BTreeSet<_>, _) = ([pod.id].into(), start + PATIENCE_FOR_DEVICE);
        let none: Vec<&str> = Vec::new();
        assert_eq!(update(Peer::Absent, &BTreeSet::new(), start + PATIENCE), none);
        assert_eq!(update(Peer::Connected, &gone, start), none, "DEL may be under way");
        assert_eq!(update(Peer::Connected, &gone, late), [DEVICE_MISSING]);
        assert_eq!(update(Peer::Connected, &BTreeSet::new(), late), none);
    }

    #[test]
    fn only_ports_of_attached_pods_with_a_socket_count() {
        let start = Instant::now();
        let mut ports = UnconnectedPorts::new(|_| PodSocket::Absent);
        let mut attaching = record("c1", &network("blue"));
        attaching.progress = Progress::Attaching;
        let mut veth = record("c2", &network("blue"));
        veth.port.backend = PortBackend::Device { device: DeviceName::of(&veth.id) };
        let pods = [attaching, veth];
        let _first = reported(&mut ports, &pods, &view(&pods, Peer::Absent), start);
        assert_eq!(ports.next_due(start), None);
        assert!(reported(&mut ports, &pods, &view(&pods, Peer::Absent), start + PATIENCE).is_empty());
    }
}
