//! Finds the port of each interface in its engine, and the network of the port's bridge. Pure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use usnet_common::display::ErrorChain;
use usnet_crds::{EngineKind, NodeNetwork, PortType};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::legacy_annotation::{short_id, socket_name};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::{Observed, ObservedPort};
use usnet_dataplane::port::{PortBackend, PortName};
use usnet_node::legacy_pods::{FoundPort, LegacyInterface, record};

/// One engine of the node, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Engine<'a> {
    pub(super) kind: EngineKind,
    pub(super) socket: &'a Path,
    pub(super) memif_socket_ids: MemifSocketIds,
    pub(super) observed: &'a Observed,
    pub(super) networks: &'a [Arc<NodeNetwork>],
    pub(super) records: &'a [Record],
}

/// The records to write, and why others wait, by their state files.
#[derive(Debug, Default)]
pub(super) struct Matched<'a> {
    pub(super) new: Vec<(&'a LegacyInterface, Record)>,
    pub(super) waiting: BTreeMap<PathBuf, String>,
}

/// Why an interface waits.
#[derive(Debug, thiserror::Error)]
enum Waiting {
    #[error("{engine} has no port {port} without a tag: if it was deleted, recreate pod {pod}")]
    NoPort { engine: EngineKind, port: String, pod: String },
    #[error("another interface has the same port {0}: recreate the pods of both")]
    SharedPort(PortName),
    #[error("this node has no network for bridge {bridge}: see the NetworkAttachmentDefinition of pod {pod}")]
    NoNetwork { bridge: String, pod: String },
}

/// A port, and the bridge that it is on.
type PortOnBridge<'a> = (&'a str, &'a PortName, &'a PortBackend);

/// Matches the interfaces of one engine that have no record yet.
pub(super) fn matched<'a>(interfaces: &'a [LegacyInterface], engine: Engine<'_>) -> Matched<'a> {
    let mut matched = Matched::default();
    let is_new = |interface: &&LegacyInterface| {
        interface.engine == engine.kind && !engine.records.iter().any(|record| record.id == interface.id)
    };
    let new: Vec<_> =
        interfaces.iter().filter(is_new).map(|interface| (interface, engine.port_of(interface))).collect();
    for (interface, port) in &new {
        let result = match port {
            None => Err(no_port(engine.kind, interface)),
            Some(port) if is_shared(&new, *port) || engine.is_recorded(port.2) => {
                Err(ErrorChain(&Waiting::SharedPort(port.1.clone())).to_string())
            }
            Some(port) => engine.record(interface, *port),
        };
        match result {
            Ok(record) => matched.new.push((*interface, record)),
            Err(reason) => drop(matched.waiting.insert(interface.file.clone(), reason)),
        }
    }
    matched
}

fn is_shared(all: &[(&LegacyInterface, Option<PortOnBridge<'_>>)], port: PortOnBridge<'_>) -> bool {
    all.iter().filter(|(_, other)| *other == Some(port)).count() > 1
}

fn no_port(engine: EngineKind, interface: &LegacyInterface) -> String {
    let port = interface.port.clone().unwrap_or_else(|| names(interface).join(" or "));
    Waiting::NoPort { engine, port, pod: interface.pod.to_string() }.to_string()
}

impl<'a> Engine<'a> {
    /// The port of an interface. A port that has its tag already is one whose record was lost.
    fn port_of(self, interface: &LegacyInterface) -> Option<PortOnBridge<'a>> {
        let on_bridges = self.observed.bridges.iter();
        let mut ports = on_bridges.flat_map(|(bridge, actual)| actual.ports.iter().map(move |port| (bridge, port)));
        ports.find_map(|(bridge, (name, port))| {
            let backend = port.backend.as_ref()?;
            let is_its = match &interface.port {
                Some(known) => name.as_str() == known && backend.socket_file().is_some(),
                None => is_socket_of(backend, interface),
            };
            (is_its && may_be_of(port, interface)).then_some((bridge.as_str(), name, backend))
        })
    }

    fn is_recorded(self, backend: &PortBackend) -> bool {
        self.records.iter().any(|record| record.port.backend == *backend)
    }

    /// The record of the interface in the network of its bridge; of several that have adopted the
    /// bridge, in the one that fits.
    fn record(self, interface: &LegacyInterface, (bridge, name, backend): PortOnBridge<'_>) -> Result<Record, String> {
        let mut reason = None;
        for network in self.networks.iter().filter(|network| network.bridge.name.as_str() == bridge) {
            let (engine_socket, memif_socket_ids) = (self.socket, self.memif_socket_ids);
            match record(interface, FoundPort { engine_socket, memif_socket_ids, network, name, backend }) {
                Ok(record) => return Ok(record),
                Err(error) => reason = reason.or_else(|| Some(ErrorChain(&error).to_string())),
            }
        }
        let no_network =
            || Waiting::NoNetwork { bridge: bridge.to_owned(), pod: interface.pod.to_string() }.to_string();
        Err(reason.unwrap_or_else(no_network))
    }
}

fn may_be_of(port: &ObservedPort, interface: &LegacyInterface) -> bool {
    port.owner.as_ref().is_none_or(|owner| owner.attachment() == Some(&interface.id))
}

/// Whether a socket of VPP is that of an interface: it has one of its names, and is in a folder of
/// its pod or names its container, because several pods may have a configured name.
fn is_socket_of(backend: &PortBackend, interface: &LegacyInterface) -> bool {
    let Some(path) = backend.socket_file() else { return false };
    let has_name = path.file_name().is_some_and(|name| names(interface).iter().any(|known| **known == *name));
    let path = path.to_string_lossy();
    has_name && [short_id(&interface.id).as_str(), interface.pod.uid.as_str()].iter().any(|part| path.contains(part))
}

/// The possible names of the socket.
fn names(interface: &LegacyInterface) -> Vec<String> {
    let own = [PortType::Memif, PortType::VhostUser].map(|port_type| socket_name(port_type, &interface.id));
    interface.legacy.socket_file.clone().into_iter().chain(own).collect()
}
