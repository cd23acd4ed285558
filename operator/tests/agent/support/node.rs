//! The files of one node, as the plugin reads and writes them.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use usnet_crds::{Bridge, EngineKind, NetworkName, NodeNetwork, Phase, Port, PortType, Queues, RateLimit, RingSize};
use usnet_dataplane::attachment::{AttachmentId, Pod, Progress, Record};
use usnet_dataplane::desired::port_settings;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::{AttachedPort, PortBackend, PortName};

pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

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

/// A network with Open vSwitch.
pub(crate) fn network(name: &str) -> NodeNetwork {
    network_with(EngineKind::OpenVswitch, name)
}

pub(crate) fn network_with(engine: EngineKind, name: &str) -> NodeNetwork {
    let name: NetworkName = name.parse().unwrap();
    let port_type = match engine {
        EngineKind::OpenVswitch => PortType::VhostUser,
        EngineKind::Vpp => PortType::Memif,
    };
    NodeNetwork {
        generation: 1,
        phase: Phase::Active,
        engine,
        bridge: Bridge::named(engine.default_bridge(&name)),
        port: Port { port_type, ..Port::default() },
        namespaces: ["default"].into_iter().collect(),
        ipam: None,
        attachments: Vec::new(),
        device_plugin: None,
        name,
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
        // Their folders exist before they do.
        let nowhere = |name: &str| folder.path().join(name);
        let paths = NodePaths::below(folder.path())
            .with_socket(EngineKind::OpenVswitch, open_vswitch.unwrap_or_else(|| nowhere("db.sock")))
            .with_socket(EngineKind::Vpp, vpp.unwrap_or_else(|| nowhere("api.sock")));
        Self { paths, folder }
    }

    /// What the plugin would write for a pod of this network.
    pub(crate) fn record(&self, container: &str, network: &NodeNetwork, backend: PortBackend) -> Record {
        let id = AttachmentId { container: container.parse().unwrap(), interface: "net1".parse().unwrap() };
        Record {
            version: Record::VERSION,
            progress: Progress::Attached,
            network: network.name.clone(),
            engine: network.engine,
            engine_socket: self.paths.engine_socket(network.engine),
            memif_socket_ids: MemifSocketIds::default(),
            port: AttachedPort {
                name: PortName::of(&id),
                bridge: network.bridge.name.clone(),
                ownership: network.bridge.ownership,
                backend,
                queues: Queues::default(),
                ring_size: RingSize::default(),
                secret: None,
                settings: port_settings(network, "default", container, RateLimit::default()),
            },
            pod: Pod { namespace: "default".into(), name: container.into(), uid: "0-1".parse().unwrap() },
            network_namespace: "/run/netns/pod".into(),
            network_namespace_inode: None,
            pod_directory: self.folder.path().to_owned(),
            directory_source: None,
            mac: "02:00:00:00:00:01".into(),
            addresses: Vec::new(),
            configuration_name: None,
            requested_rate_limit: RateLimit::default(),
            configuration_data: None,
            invoked_ifname: None,
            ipam: None,
            id,
        }
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
