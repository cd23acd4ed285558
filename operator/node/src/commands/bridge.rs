//! `usnet node bridge NETWORK`: the current bridge of a network in the engine, with the ports of
//! pods, their counters, and the learned addresses. The values of the journal and of the node file
//! are included, so that differences show.

use super::output::Error;
use crate::ports::reader::PortReader;
use std::collections::{BTreeMap, BTreeSet};
use std::thread::sleep;
use std::time::Duration;
use usnet_common::display::ErrorChain;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::counters::PortCounters;
use usnet_dataplane::engine::{BlockingDriver, EngineError};
use usnet_dataplane::inspect::learned_macs;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::node_file::NodeFile;
use usnet_dataplane::observed::{ElementState, Observed, ObservedPort, Peer};
use usnet_dataplane::ovs::OpenVswitch;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::tagging::Tagging;
use usnet_dataplane::vpp::Vpp;
use usnet_node_output::bridge::{BridgeFacts, Overlay, PortFacts};
use usnet_node_output::ports::Port;

/// How long one exchange with an engine may take.
const TIMEOUT: Duration = Duration::from_secs(4);

/// The document as JSON.
///
/// # Errors
/// When the files of the node cannot be read.
pub(super) fn render(paths: &NodePaths, network: &NetworkName, interval: Option<Duration>) -> Result<String, Error> {
    let facts = facts(paths, network, interval)?;
    serde_json::to_string(&facts).map_err(|error| Error::Print(error.into()))
}

fn facts(paths: &NodePaths, network: &NetworkName, interval: Option<Duration>) -> Result<BridgeFacts, Error> {
    let file = NodeFile::read(paths)?.unwrap_or_default();
    let mut facts = BridgeFacts::default();
    let Some(selected) = file.networks.iter().find(|it| it.name == *network) else { return Ok(facts) };
    add_network(&mut facts, selected);
    let records = records(paths, network)?;
    let before = counters(paths, &mut facts.failures);
    sleep(interval.unwrap_or_default());
    let after = counters(paths, &mut facts.failures);
    let socket = paths.engine_socket(selected.engine);
    let ids = records.first().map(|record| record.memif_socket_ids).unwrap_or_default();
    let observed = observe(selected.engine, &socket, ids).unwrap_or_else(|error| {
        facts.failures.push(ErrorChain(&error).to_string());
        Observed::default()
    });
    let bridge = observed.bridges.get(&facts.bridge);
    facts.has_bridge = bridge.is_some();
    for record in &records {
        let port = bridge.and_then(|bridge| bridge.ports.get(&record.port.name));
        let count = |all: &Counters| all.get(&key(record)).cloned().unwrap_or_default();
        facts.ports.push(port_facts(record, port, count(&before), count(&after)));
    }
    if facts.has_bridge {
        match learned_macs(selected.engine, &socket, &facts.bridge) {
            Ok(macs) => facts.macs = macs,
            Err(error) => facts.failures.push(ErrorChain(&error).to_string()),
        }
    }
    facts.failures.dedup();
    Ok(facts)
}

fn add_network(facts: &mut BridgeFacts, network: &NodeNetwork) {
    facts.is_selected = true;
    facts.bridge = network.bridge.name.to_string();
    facts.uplink = network.uplink.as_ref().map(|uplink| uplink.name.to_string());
    facts.overlay = network.overlay.as_ref().map(|overlay| Overlay {
        local: overlay.local,
        is_multicast: overlay.multicast_group.is_some(),
        peers: BTreeSet::clone(&overlay.peers),
    });
}

fn observe(engine: EngineKind, socket: &std::path::Path, ids: MemifSocketIds) -> Result<Observed, EngineError> {
    match engine {
        EngineKind::OpenVswitch => {
            BlockingDriver::observe(&mut OpenVswitch::new(usnet_ovsdb::blocking::Client::connect(socket, TIMEOUT)?))
        }
        EngineKind::Vpp => {
            BlockingDriver::observe(&mut Vpp::new(usnet_vpp::blocking::Client::connect(socket, TIMEOUT)?, ids))
        }
    }
}

fn records(paths: &NodePaths, network: &NetworkName) -> Result<Vec<Record>, Error> {
    // Opening the journal would create it.
    if !paths.attachments().exists() {
        return Ok(Vec::new());
    }
    let unreadable = |source| Error::Attachments { path: paths.attachments(), source: Box::new(source) };
    let mut records = Journal::open(paths).and_then(|journal| journal.records()).map_err(unreadable)?.records;
    records.retain(|record| record.network == *network);
    Ok(records)
}

/// The counters of ports, by pod and interface.
type Counters = BTreeMap<(String, String), PortCounters>;

fn key(record: &Record) -> (String, String) {
    (record.pod.to_string(), record.id.interface.to_string())
}

fn counters(paths: &NodePaths, failures: &mut Vec<String>) -> Counters {
    match PortReader::new(paths.clone()).read() {
        Ok(reading) => {
            failures.extend(reading.failures.into_iter().map(|failure| failure.message));
            let entry = |port: Port| ((format!("{}/{}", port.namespace, port.pod), port.interface), port.counters);
            reading.ports.into_iter().map(entry).collect()
        }
        Err(error) => {
            failures.push(ErrorChain(&error).to_string());
            Counters::new()
        }
    }
}

fn port_facts(
    record: &Record,
    port: Option<&ObservedPort>,
    counters_before: PortCounters,
    counters: PortCounters,
) -> PortFacts {
    let is_of_kernel = record.port.backend.is_of_kernel();
    PortFacts {
        pod: record.pod.to_string(),
        interface: record.id.interface.to_string(),
        name: record.port.name.to_string(),
        is_attached: record.progress == Progress::Attached,
        is_there: port.is_some(),
        is_connected: is_of_kernel || port.is_some_and(|port| port.peer == Peer::Connected),
        problem: port.and_then(|port| match &port.state {
            ElementState::Pending => Some("the engine has not started it yet".to_owned()),
            ElementState::Running => (!port.settings.is_enabled).then(|| "it is not enabled".to_owned()),
            state => state.error().map(str::to_owned),
        }),
        vlan: port.map_or_else(String::new, |port| tagging(&port.settings.tagging)),
        recorded_vlan: tagging(&record.port.settings.vlan.clone().into()),
        mtu: port.and_then(|port| port.settings.mtu),
        mac: record.mac.to_ascii_lowercase(),
        addresses: record.addresses.iter().map(|address| address.ip).collect(),
        counters,
        counters_before,
    }
}

fn tagging(tagging: &Tagging) -> String {
    match tagging {
        Tagging::Untagged => "no VLAN".to_owned(),
        Tagging::Vlan(vlan) => vlan.to_string(),
        Tagging::OnlyUntagged => "frames without a tag alone".to_owned(),
        Tagging::UntaggedAndTrunk(_) => "frames without a tag and a trunk".to_owned(),
        Tagging::Other => "VLANs that usnet did not set".to_owned(),
    }
}
