//! The pods of a network: those that select it, and those that nodes name.

use crate::kubectl::model::interface::interface;
use crate::kubectl::model::places::{Place, places};
use crate::kubectl::model::selection::{Selected, selected};
use crate::kubectl::model::{Gap, Part, Pod, Snapshot};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::PortType;
use usnet_crds::conditions::reason::NOT_CONNECTED;
use usnet_dataplane::attachment::{Progress, Record};

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub network: String,
    pub interfaces: Vec<Attached>,
    /// Pods that select the network and do not have it.
    pub waiting: Vec<Waiting>,
    /// Attached interfaces of pods that are not in the list.
    pub unnamed: i64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Gap>,
    #[serde(skip)]
    pub now: Timestamp,
}

/// An interface of a pod on the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Attached {
    pub pod: String,
    pub interface: String,
    pub node: String,
    pub program: Program,
    pub addresses: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mac: String,
    /// The creation of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The port in the engine, if nodes were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The name of the socket in the pod's volume, if nodes were asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<String>,
}

/// A pod that does not have the network yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Waiting {
    pub pod: String,
    pub interface: String,
    pub node: Option<String>,
    pub state: String,
}

/// The program of the pod that uses an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Program {
    /// It is connected to the engine.
    Connected,
    /// It has not been for 30 s.
    NotConnected,
    /// The engine cannot use the socket.
    Failed,
    /// The interface is a device of the kernel, which needs no program.
    NotNeeded,
    /// Only counts are known, or the pod has just started.
    #[default]
    Unknown,
}

impl Report {
    /// Whether usnet has done its part: all that select the network have it. What a program does
    /// with its port is in the column.
    pub(crate) fn is_fine(&self) -> bool {
        let is_bad = |attached: &Attached| attached.program == Program::Failed;
        self.waiting.is_empty() && !self.interfaces.iter().any(is_bad)
    }
}

/// Pods with the elements of their annotations, by the networks that these select.
pub(crate) type Uses<'a> = BTreeMap<String, Vec<(&'a Pod, Selected)>>;

/// Which pods select which networks.
pub(crate) fn uses(snapshot: &Snapshot) -> Uses<'_> {
    let mut uses = Uses::new();
    for pod in snapshot.pods.iter().filter(|pod| !pod.has_ended()) {
        let elements = pod.networks.as_deref().map(|text| selected(text, &pod.namespace));
        for element in elements.and_then(Result::ok).unwrap_or_default() {
            if let Some(network) = network_of(snapshot, &element) {
                uses.entry(network).or_default().push((pod, element));
            }
        }
    }
    uses
}

/// The network that an element selects. Without the definition it is the one of the same name.
pub(crate) fn network_of(snapshot: &Snapshot, element: &Selected) -> Option<String> {
    match snapshot.network_of_definition(&element.namespace, &element.name) {
        Some(found) => found.ok(),
        None if has_definition(snapshot, element) => None,
        None => Some(element.name.clone()).filter(|name| snapshot.cache.networks.contains_key(name)),
    }
}

/// Whether there is a NetworkAttachmentDefinition, of whatever plugin.
pub(crate) fn has_definition(snapshot: &Snapshot, element: &Selected) -> bool {
    let (namespace, name) = (element.namespace.clone(), element.name.clone());
    snapshot.definitions.contains_key(&crate::controller::cache::NadKey { namespace, name })
}

/// The pods of a network.
pub(crate) fn report(snapshot: &Snapshot, network: &str, records: Option<&[(String, Record)]>) -> Report {
    report_of(snapshot, network, uses(snapshot).get(network).map(Vec::as_slice).unwrap_or_default(), records)
}

/// The same, where it is known which pods select it.
pub(crate) fn report_of(
    snapshot: &Snapshot,
    network: &str,
    uses: &[(&Pod, Selected)],
    records: Option<&[(String, Record)]>,
) -> Report {
    let places = places(snapshot, network);
    let mut report = Report {
        network: network.to_owned(),
        interfaces: Vec::new(),
        waiting: Vec::new(),
        unnamed: 0,
        not_read: snapshot.gaps.clone(),
        now: snapshot.now,
    };
    for (pod, element) in uses {
        let found = interface(pod, &element.interface);
        let place = places.iter().find(|place| Some(place.node) == pod.node.as_deref());
        let (name, interface) = (pod.reference(), element.interface.clone());
        let Some(found) = found else {
            let (node, state) = (pod.node.clone(), pod.state().to_owned());
            report.waiting.push(Waiting { pod: name, interface, node, state });
            continue;
        };
        report.interfaces.push(Attached {
            program: program(snapshot, network, place, (&pod.runtime_uid, &interface)),
            pod: name,
            interface,
            node: pod.node.clone().unwrap_or_default(),
            addresses: found.ips,
            mac: found.mac,
            since: pod.created,
            ..Attached::default()
        });
    }
    for (node, record) in records.unwrap_or_default() {
        let place = places.iter().find(|place| place.node == node);
        add_record(snapshot, &mut report, (node, place), record);
    }
    if records.is_none() && !snapshot.knows(Part::Pods) {
        name_pods(&mut report, &places);
    }
    let attached: i64 = places.iter().filter_map(|place| place.report).map(|report| report.attachments).sum();
    let listed = i64::try_from(report.interfaces.len()).unwrap_or(i64::MAX);
    report.unnamed = (attached - listed).max(0);
    report.interfaces.sort();
    report.waiting.sort();
    report
}

/// Whether the program of an interface is connected: nodes report counts, and name those that are
/// not for some time.
pub(crate) fn program(
    snapshot: &Snapshot,
    network: &str,
    place: Option<&Place<'_>>,
    (uid, name): (&str, &str),
) -> Program {
    let valid = snapshot.cache.networks.get(network).and_then(|network| network.spec.as_ref().ok());
    if valid.is_some_and(|valid| valid.port.port_type == PortType::Veth) {
        let has_problem = place.is_some_and(|place| place.degraded(uid, name).is_some());
        return if has_problem { Program::Failed } else { Program::NotNeeded };
    }
    let Some((place, report)) = place.and_then(|place| Some((place, place.report?))) else { return Program::Unknown };
    match place.degraded(uid, name) {
        Some(entry) if entry.reason == NOT_CONNECTED => return Program::NotConnected,
        Some(_) => return Program::Failed,
        None => {}
    }
    let named = report.degraded.iter().filter(|entry| entry.reason == NOT_CONNECTED).count();
    let unconnected = report.attachments - report.connected;
    if unconnected <= i64::try_from(named).unwrap_or(i64::MAX) { Program::Connected } else { Program::Unknown }
}

/// What the record of a node adds.
fn add_record(snapshot: &Snapshot, report: &mut Report, (node, place): (&str, Option<&Place<'_>>), record: &Record) {
    if !matches!(record.progress, Progress::Attached) {
        return;
    }
    let (pod, name) = (record.pod.to_string(), record.id.interface.as_str());
    let index = report.interfaces.iter().position(|attached| attached.pod == pod && attached.interface == name);
    let index = index.unwrap_or_else(|| {
        let program = program(snapshot, &report.network, place, (record.pod.uid.as_str(), name));
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

/// Without the right to read pods: those that nodes name, at most ten of each.
fn name_pods(report: &mut Report, places: &[Place<'_>]) {
    for (node, found) in places.iter().filter_map(|place| Some((place.node, place.report?))) {
        let named: BTreeSet<&String> = found.pods.iter().collect();
        let attached = |pod: &String| Attached { pod: pod.clone(), node: node.to_owned(), ..Attached::default() };
        report.interfaces.extend(named.into_iter().map(attached));
    }
}
