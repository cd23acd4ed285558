//! Reads the counters of all attached interfaces.

use crate::display::ErrorChain;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::counters::{CounterReader, PortCounters};
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::{PortBackend, PortName};

/// What changed less than this before it was read may have changed again in the same tick of its
/// timestamp.
const TICK: Duration = Duration::from_secs(1);

/// An attached interface with its counters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The interface in the pod.
    pub interface: String,
    /// The network that it is attached to.
    pub network: String,
    /// The engine that has its port.
    pub engine: EngineKind,
    /// `VhostUser`, `Memif` or `Veth`.
    #[serde(rename = "type")]
    pub port_type: String,
    /// The interface's MAC address.
    pub mac: String,
    /// What the engine counts.
    #[serde(flatten)]
    pub counters: PortCounters,
}

/// An engine whose counters could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Which engine.
    pub engine: EngineKind,
    /// Why.
    pub message: String,
}

/// All interfaces of the engines that answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// In the order of namespace, pod and interface, each of which is in it once.
    pub ports: Vec<Port>,
    /// The engines that did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

/// What of an attachment is needed here.
#[derive(Debug, Clone)]
struct Attached {
    name: PortName,
    socket: PathBuf,
    /// Without counters.
    port: Port,
}

/// Reads the counters of a node, again and again.
#[derive(Debug)]
pub struct PortReader {
    paths: NodePaths,
    engines: BTreeMap<(EngineKind, PathBuf), CounterReader>,
    /// The attached interfaces, and when the journal had changed last by then. To read a thousand
    /// records takes longer than to read their counters.
    attached: Option<(SystemTime, Vec<Attached>)>,
}

impl PortReader {
    /// Of the node that has its files at `paths`. Nothing is read yet.
    #[must_use]
    pub fn new(paths: NodePaths) -> Self {
        Self { paths, engines: BTreeMap::new(), attached: None }
    }

    /// Reads the counters. An engine that does not answer fails alone.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub fn read(&mut self) -> Result<Reading, journal::Error> {
        let attached = self.attached()?;
        let mut by_engine: BTreeMap<(EngineKind, PathBuf), Vec<Attached>> = BTreeMap::new();
        for attached in attached {
            by_engine.entry((attached.port.engine, attached.socket.clone())).or_default().push(attached);
        }
        self.engines.retain(|engine, _| by_engine.contains_key(engine));
        let mut reading = Reading::default();
        let mut ports = BTreeMap::new();
        for ((engine, socket), attached) in by_engine {
            let reader = || CounterReader::new(engine, socket.clone());
            let reader = self.engines.entry((engine, socket.clone())).or_insert_with(reader);
            match reader.read() {
                Ok(mut counters) => attached.into_iter().for_each(|attached| {
                    // A port that was lost has no counters, and is not connected.
                    let counters = counters.remove(&attached.name).unwrap_or_default();
                    insert(&mut ports, Port { counters, ..attached.port });
                }),
                Err(error) => {
                    reading.failures.push(Failure { engine, message: ErrorChain(&error).to_string() });
                }
            }
        }
        reading.ports = ports.into_values().collect();
        Ok(reading)
    }

    fn attached(&mut self) -> Result<Vec<Attached>, journal::Error> {
        // Opening the journal would create it.
        let Ok(changed) = last_change(&self.paths.attachments()) else { return Ok(Vec::new()) };
        if let Some((_, attached)) = self.attached.as_ref().filter(|(before, _)| *before == changed) {
            return Ok(attached.clone());
        }
        let records = Journal::open(&self.paths)?.records()?.records;
        let attached: Vec<_> =
            records.into_iter().filter(|record| record.progress == Progress::Attached).map(Attached::from).collect();
        let is_certain = SystemTime::now().duration_since(changed).is_ok_and(|age| age > TICK);
        self.attached = is_certain.then(|| (changed, attached.clone()));
        Ok(attached)
    }
}

/// When the journal changed last: a record that comes or goes changes the folder, and a later state
/// of one, which is appended, its file alone.
fn last_change(folder: &Path) -> io::Result<SystemTime> {
    let mut last = fs::metadata(folder)?.modified()?;
    for entry in fs::read_dir(folder)? {
        match entry?.metadata().and_then(|metadata| metadata.modified()) {
            Ok(changed) => last = last.max(changed),
            // It has just gone, which changes the folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SystemTime::now()),
            Err(error) => return Err(error),
        }
    }
    Ok(last)
}

/// An earlier sandbox of a pod may still be attached: of two interfaces of one name the connected
/// one counts.
fn insert(ports: &mut BTreeMap<[String; 3], Port>, port: Port) {
    let key = [port.namespace.clone(), port.pod.clone(), port.interface.clone()];
    let present = ports.entry(key).or_insert_with(|| port.clone());
    if port.counters.connected && !present.counters.connected {
        *present = port;
    }
}

impl From<Record> for Attached {
    fn from(record: Record) -> Self {
        let port_type = match record.port.backend {
            PortBackend::VhostUser { .. } => "VhostUser",
            PortBackend::Memif { .. } => "Memif",
            PortBackend::Veth { .. } => "Veth",
        };
        Self {
            name: record.port.name,
            socket: record.engine_socket,
            port: Port {
                namespace: record.pod.namespace,
                pod: record.pod.name,
                interface: record.id.interface.to_string(),
                network: record.network.to_string(),
                engine: record.engine,
                port_type: port_type.to_owned(),
                mac: record.mac,
                counters: PortCounters::default(),
            },
        }
    }
}
