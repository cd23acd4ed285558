//! The files of one node, as the plugin reads and writes them.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::PortBackend;
use usnet_dataplane::testing::record_with;
pub(crate) use usnet_dataplane::testing::{network, network_with};

pub(crate) const PATIENCE: Duration = Duration::from_secs(40);
/// Until when the agent has done what a change in the kernel wakes it for, also on a busy machine.
/// Without that it would look after half a minute.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// Waits until `condition` returns a value.
pub(crate) fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "still not: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The folders of a node.
pub(crate) struct Node {
    pub(crate) paths: NodePaths,
    folder: TempDir,
}

impl Node {
    /// A node whose engines listen at these sockets, or nowhere.
    pub(crate) fn new(open_vswitch: Option<PathBuf>, vpp: Option<PathBuf>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The folders of the sockets exist before the engines start.
        let nowhere = |name: &str| folder.path().join(name);
        let paths = NodePaths::below(folder.path())
            .with_socket(EngineKind::OpenVswitch, open_vswitch.unwrap_or_else(|| nowhere("db.sock")))
            .with_socket(EngineKind::Vpp, vpp.unwrap_or_else(|| nowhere("api.sock")));
        Self { paths, folder }
    }

    /// The record that the plugin would write for a pod of this network.
    pub(crate) fn record(&self, container: &str, network: &NodeNetwork, backend: PortBackend) -> Record {
        let engine_socket = self.paths.engine_socket(network.engine);
        let pod_directory = self.folder.path().to_owned();
        Record { engine_socket, pod_directory, ..record_with(container, network, backend) }
    }

    pub(crate) fn write(&self, record: &Record) {
        Journal::open(&self.paths).unwrap().lock(&record.id).unwrap().write(record).unwrap();
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        Journal::open(&self.paths).unwrap().records().unwrap().records
    }

    pub(crate) fn file(&self, network: &str) -> Option<NetworkFile> {
        NetworkFiles::new(&self.paths).read(&network.parse().unwrap()).unwrap()
    }

    pub(crate) fn is_programmed(&self, network: &str) -> bool {
        matches!(self.file(network), Some(NetworkFile::Programmed(_)))
    }

    pub(crate) fn wait_until_programmed(&self, network: &str) {
        until(&format!("network {network} is programmed"), || self.is_programmed(network).then_some(()));
    }

    /// The reason of the network file, once it is `Unavailable`.
    pub(crate) fn wait_until_unavailable(&self, network: &str) -> String {
        until(&format!("network {network} is unavailable"), || match self.file(network) {
            Some(NetworkFile::Unavailable { reason, .. }) => Some(reason),
            _ => None,
        })
    }
}
