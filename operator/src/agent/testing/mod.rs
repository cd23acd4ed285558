//! Values that the tests of several modules need.

pub(crate) mod api_server;

use std::path::PathBuf;
use tempfile::TempDir;
use usnet_crds::{Bridge, EngineKind, NetworkName, NodeNetwork, Phase, Port, Queues, RateLimit, RingSize, SocketRole};
use usnet_dataplane::attachment::{AttachmentId, Pod, Progress, Record};
use usnet_dataplane::desired::port_settings;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::observed::{ElementState, ObservedBridge, ObservedPort, Peer};
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::port::{AttachedPort, PortBackend, PortName, SocketPath};

/// The files of a node in a folder that is deleted with the first value.
pub(crate) fn node_paths() -> (TempDir, NodePaths) {
    let folder = tempfile::tempdir().unwrap();
    let paths = NodePaths::below(folder.path());
    (folder, paths)
}

pub(crate) fn name(name: &str) -> NetworkName {
    name.parse().unwrap()
}

pub(crate) fn network(network: &str) -> NodeNetwork {
    network_with(EngineKind::OpenVswitch, network)
}

pub(crate) fn network_with(engine: EngineKind, network: &str) -> NodeNetwork {
    let name = name(network);
    NodeNetwork {
        generation: 1,
        phase: Phase::Active,
        engine,
        bridge: Bridge::named(engine.default_bridge(&name)),
        port: Port::default(),
        namespaces: ["default"].into_iter().collect(),
        ipam: None,
        attachments: Vec::new(),
        device_plugin: None,
        name,
    }
}

/// The bridge of a network as it is observed in a healthy engine, without ports.
pub(crate) fn bridge_of(network: &NodeNetwork) -> (String, ObservedBridge) {
    let bridge = ObservedBridge {
        owner: Some(network.name.clone()),
        has_supported_datapath: true,
        adoption_blocker: None,
        settings: (&network.bridge).into(),
        state: ElementState::Running,
        ports: [].into(),
    };
    (network.bridge.name.to_string(), bridge)
}

/// The port of an attachment as it is observed in a healthy engine, without a connected peer.
pub(crate) fn port_of(record: &Record) -> ObservedPort {
    ObservedPort {
        owner: Some(PortOwner::new(&record.network, &record.id)),
        backend: Some(record.port.backend.clone()),
        mtu: Some(record.port.settings.mtu.into()),
        tagging: record.port.settings.vlan.clone().into(),
        rate_limit: Some(record.port.settings.rate_limit),
        is_enabled: true,
        peer: Peer::Absent,
        state: ElementState::Running,
    }
}

/// An attached pod of a network.
pub(crate) fn record(container: &str, network: &NodeNetwork) -> Record {
    let id = AttachmentId { container: container.parse().unwrap(), interface: "net1".parse().unwrap() };
    let socket = SocketPath::try_from(PathBuf::from(format!("/run/usnet/ports/{container}/net1.sock"))).unwrap();
    Record {
        version: Record::VERSION,
        progress: Progress::Attached,
        network: network.name.clone(),
        engine: network.engine,
        engine_socket: "/run/openvswitch/db.sock".into(),
        memif_socket_ids: MemifSocketIds::default(),
        port: AttachedPort {
            name: PortName::of(&id),
            bridge: network.bridge.name.clone(),
            ownership: network.bridge.ownership,
            backend: PortBackend::VhostUser { socket, engine_role: SocketRole::Client },
            queues: Queues::default(),
            ring_size: RingSize::default(),
            secret: None,
            settings: port_settings(network, "default", container, RateLimit::default()),
        },
        pod: Pod { namespace: "default".into(), name: container.into(), uid: "0-1".parse().unwrap() },
        network_namespace: "/run/netns/pod".into(),
        network_namespace_inode: None,
        pod_directory: "/run/usnet/ports/0".into(),
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
