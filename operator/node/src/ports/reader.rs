//! Reads the counters of all attached interfaces (IO).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{fs, io};
use usnet_common::display::ErrorChain;
use usnet_crds::{EngineKind, PortType};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::counters::{CounterReader, PortCounters};
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::PortName;
use usnet_node_output::ports::{Failure, Port, Reading};

/// The granularity of timestamps. What changed less than this before it was read may have changed
/// again with the same timestamp.
const TICK: Duration = Duration::from_secs(1);

/// What of an attachment is needed here.
#[derive(Debug, Clone)]
struct Attached {
    name: PortName,
    socket: PathBuf,
    /// The port without counters.
    port: Port,
}

/// Reads the counters of a node repeatedly.
#[derive(Debug)]
pub struct PortReader {
    paths: NodePaths,
    engines: BTreeMap<(EngineKind, PathBuf), CounterReader>,
    /// The attached interfaces, and the last change of the journal when they were read. They are
    /// kept because reading a thousand records takes longer than reading their counters.
    attached: Option<(SystemTime, Vec<Attached>)>,
}

impl PortReader {
    #[must_use]
    pub fn new(paths: NodePaths) -> Self {
        Self { paths, engines: BTreeMap::new(), attached: None }
    }

    /// Reads the counters. An engine that does not answer is reported as a failure of the reading.
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

/// When the journal changed last. A new or removed record changes the folder; a later state of a
/// record, which is appended, changes only its file.
fn last_change(folder: &Path) -> io::Result<SystemTime> {
    let mut last = fs::metadata(folder)?.modified()?;
    for entry in fs::read_dir(folder)? {
        match entry?.metadata().and_then(|metadata| metadata.modified()) {
            Ok(changed) => last = last.max(changed),
            // The record was just removed, which changes the folder.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(SystemTime::now()),
            Err(error) => return Err(error),
        }
    }
    Ok(last)
}

/// Inserts a port. An earlier sandbox of a pod may still be attached: of two interfaces with the
/// same name the connected one counts.
fn insert(ports: &mut BTreeMap<[String; 3], Port>, port: Port) {
    let key = [port.namespace.clone(), port.pod.clone(), port.interface.clone()];
    let present = ports.entry(key).or_insert_with(|| port.clone());
    if port.counters.connected && !present.counters.connected {
        *present = port;
    }
}

impl From<Record> for Attached {
    fn from(record: Record) -> Self {
        // The ports of pods have one of these types.
        let port_type = record.port.backend.port_type().map_or("", PortType::as_str);
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
