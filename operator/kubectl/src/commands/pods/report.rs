//! The pods of a network: those that select it, claim it or have it added, and those that agents
//! report.

pub(crate) use super::uses::{
    ClaimedPort, PodClaimed, Use, Uses, claims_of, has_definition, network_of, uses, uses_of,
};
use crate::model::placements::{Placement, placements};
use crate::model::{Objects, Snapshot, Unread};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeSet;
use usnet_crds::PortType;
use usnet_crds::conditions::reason::NOT_CONNECTED;
use usnet_planner::model::attachment::{Progress, Record};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub network: String,
    pub interfaces: Vec<Attached>,
    /// The pods that select the network but are not attached to it.
    pub waiting: Vec<Waiting>,
    /// The number of attached interfaces that are not listed.
    pub unnamed: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
    #[serde(skip)]
    pub now: Timestamp,
}

/// An interface of a pod on the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attached {
    pub pod: String,
    pub interface: String,
    /// What requests the interface, such as `claim uplink/port` or `usna/extra`; `None` for the
    /// annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub node: String,
    pub program: Program,
    pub addresses: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// The creation time of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The port in the engine, if the agents were queried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The name of the socket in the pod's volume, if the agents were queried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
}

/// An interface that a pod selects and does not have yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Waiting {
    pub pod: String,
    pub interface: String,
    /// As that of [`Attached`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    pub node: Option<String>,
    pub state: String,
}

/// The state of the program that uses an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Program {
    Connected,
    /// The program has not been connected for 30 s.
    NotConnected,
    /// The engine cannot use the socket.
    Failed,
    /// The interface is a kernel device, which needs no program.
    NotNeeded,
    /// The agent reports only counts, or the pod has just started.
    #[default]
    Unknown,
}

/// Returns the name of an interface with what requests it, for users.
pub(crate) fn interface_text(interface: &str, source: Option<&str>) -> String {
    match source {
        None => interface.to_owned(),
        Some(source) => format!("{interface} ({source})").trim_start().to_owned(),
    }
}

impl Report {
    /// Whether all pods that select the network have a working port, even if programs are not
    /// connected.
    pub(crate) fn is_ok(&self) -> bool {
        let is_bad = |attached: &Attached| attached.program == Program::Failed;
        self.waiting.is_empty() && !self.interfaces.iter().any(is_bad)
    }
}

pub(crate) fn report(snapshot: &Snapshot, network: &str, records: Option<&[(String, Record)]>) -> Report {
    report_of(snapshot, network, uses(snapshot).get(network).map(Vec::as_slice).unwrap_or_default(), records)
}

/// Like [`report`], with the interfaces that pods have, or are to get, on the network.
pub(crate) fn report_of(
    snapshot: &Snapshot,
    network: &str,
    uses: &[Use<'_>],
    records: Option<&[(String, Record)]>,
) -> Report {
    let placements = placements(snapshot, network);
    let mut report = Report {
        network: network.to_owned(),
        interfaces: Vec::new(),
        waiting: Vec::new(),
        unnamed: 0,
        not_read: snapshot.unread.clone(),
        now: snapshot.now,
    };
    for Use { pod, interface, source, attached } in uses {
        let placement = placements.iter().find(|placement| Some(placement.node) == pod.node.as_deref());
        let (name, interface, source) = (pod.reference(), interface.clone(), source.clone());
        let Some(found) = attached.clone() else {
            let (node, state) = (pod.node.clone(), pod.state().to_owned());
            report.waiting.push(Waiting { pod: name, interface, source, node, state });
            continue;
        };
        report.interfaces.push(Attached {
            program: program(snapshot, network, placement, (&pod.runtime_uid, &interface)),
            pod: name,
            interface,
            source,
            node: pod.node.clone().unwrap_or_default(),
            addresses: found.ips,
            mac: found.mac,
            since: pod.created,
            ..Attached::default()
        });
    }
    for (node, record) in records.unwrap_or_default() {
        let placement = placements.iter().find(|placement| placement.node == node);
        add_record(snapshot, &mut report, (node, placement), record);
    }
    if records.is_none() && !snapshot.has_read(Objects::Pods) {
        name_pods(&mut report, &placements);
    }
    let attached: i64 =
        placements.iter().filter_map(|placement| placement.report).map(|report| report.attachments).sum();
    let listed = i64::try_from(report.interfaces.len()).unwrap_or(i64::MAX);
    report.unnamed = (attached - listed).max(0);
    report.interfaces.sort();
    report.waiting.sort();
    report
}

/// Returns the state of the program of an interface. Agents report counts, and name the interfaces
/// that have not been connected for some time.
pub(crate) fn program(
    snapshot: &Snapshot,
    network: &str,
    placement: Option<&Placement<'_>>,
    (uid, name): (&str, &str),
) -> Program {
    let valid = snapshot.cache.networks.get(network).and_then(|network| network.spec.as_ref().ok());
    if valid.is_some_and(|valid| matches!(valid.port.port_type, PortType::Veth | PortType::Tap)) {
        let has_problem = placement.is_some_and(|placement| placement.degraded(uid, name).is_some());
        return if has_problem { Program::Failed } else { Program::NotNeeded };
    }
    let Some((placement, report)) = placement.and_then(|placement| Some((placement, placement.report?))) else {
        return Program::Unknown;
    };
    match placement.degraded(uid, name) {
        Some(entry) if entry.reason == NOT_CONNECTED => return Program::NotConnected,
        Some(_) => return Program::Failed,
        None => {}
    }
    let named = report.degraded.iter().filter(|entry| entry.reason == NOT_CONNECTED).count();
    let unconnected = report.attachments - report.connected;
    if unconnected <= i64::try_from(named).unwrap_or(i64::MAX) { Program::Connected } else { Program::Unknown }
}

/// Adds what the record of a node has.
fn add_record(
    snapshot: &Snapshot,
    report: &mut Report,
    (node, placement): (&str, Option<&Placement<'_>>),
    record: &Record,
) {
    if !matches!(record.progress, Progress::Attached) {
        return;
    }
    let (pod, name) = (record.pod.to_string(), record.id.interface.as_str());
    let index = report.interfaces.iter().position(|attached| attached.pod == pod && attached.interface == name);
    let index = index.unwrap_or_else(|| {
        let program = program(snapshot, &report.network, placement, (record.pod.uid.as_str(), name));
        let (node, interface) = (node.to_owned(), name.to_owned());
        report.interfaces.push(Attached { pod: pod.clone(), interface, node, program, ..Attached::default() });
        report.interfaces.len() - 1
    });
    let Some(attached) = report.interfaces.get_mut(index) else { return };
    attached.port = Some(record.port.name.to_string());
    attached.mac.clone_from(&record.mac);
    attached.addresses = record.addresses.iter().map(|address| format!("{}/{}", address.ip, address.prefix)).collect();
    let file = record.port.backend.socket_file().and_then(|path| path.file_name());
    attached.socket = file.map(|name| name.to_string_lossy().into_owned());
}

/// Adds the pods that agents name, at most ten of each node, for users who may not read pods.
fn name_pods(report: &mut Report, placements: &[Placement<'_>]) {
    for (node, found) in placements.iter().filter_map(|placement| Some((placement.node, placement.report?))) {
        let named: BTreeSet<&String> = found.pods.iter().collect();
        let attached = |pod: &String| Attached { pod: pod.clone(), node: node.to_owned(), ..Attached::default() };
        report.interfaces.extend(named.into_iter().map(attached));
    }
}
