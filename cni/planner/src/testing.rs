//! Values that tests need, also those of other crates (feature `testing`).
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::model::attachment::{Address, AttachmentId, Pod, Progress, Record};
use crate::model::memif::MemifSocketIds;
use crate::model::port::{AttachedPort, DesiredPort, PortBackend, PortName, PortSettings, SocketPath};
use std::path::PathBuf;
use usnet_crds::{Bridge, EngineKind, NetworkName, NodeNetwork, Phase, Policies, Port, RateLimit, SocketRole};

/// A network of Open vSwitch with defaults, for the namespace `default`.
pub fn network(name: &str) -> NodeNetwork {
    network_with(EngineKind::OpenVswitch, name)
}

/// A network with defaults, for the namespace `default`.
pub fn network_with(engine: EngineKind, name: &str) -> NodeNetwork {
    let name: NetworkName = name.parse().unwrap();
    NodeNetwork {
        generation: 1,
        phase: Phase::Active,
        engine,
        bridge: Bridge::named(engine.default_bridge(&name)),
        port: Port { port_type: engine.default_port_type(), ..Port::default() },
        namespaces: ["default"].into_iter().collect(),
        ipam: None,
        gateway: None,
        node_access: None,
        attachments: Vec::new(),
        device_plugin: None,
        resource_claims: None,
        policies: Policies::default(),
        overlay: None,
        uplink: None,
        name,
    }
}

/// The attachment `net1` of a container.
pub fn attachment(container: &str) -> AttachmentId {
    AttachmentId { container: container.parse().unwrap(), interface: "net1".parse().unwrap() }
}

/// The socket of a pod, which its program listens on.
pub fn backend(container: &str) -> PortBackend {
    let path = PathBuf::from(format!("/run/usnet/ports/{container}/net1.sock"));
    PortBackend::VhostUser { socket: SocketPath::try_from(path).unwrap(), engine_role: SocketRole::Client }
}

/// The port of an attachment of a network, of which nothing else is known.
pub fn desired_port(network: &NetworkName, attachment: &AttachmentId, port: &AttachedPort) -> DesiredPort {
    let (network, id, port) = (network.clone(), attachment.clone(), port.clone());
    DesiredPort::of_attachment(&Record { network, id, port, ..record("c1", &self::network("blue")) })
}

/// An attached pod of a network.
pub fn record(container: &str, network: &NodeNetwork) -> Record {
    record_with(container, network, backend(container))
}

/// An attached pod of a network with this port.
pub fn record_with(container: &str, network: &NodeNetwork, backend: PortBackend) -> Record {
    let id = attachment(container);
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
            backend,
            queues: network.port.queues,
            ring_size: network.port.ring_size,
            secret: None,
            settings: PortSettings::of_pod(network, "default", container, RateLimit::default()),
            without_af_xdp: None,
        },
        pod: Pod { namespace: "default".into(), name: container.into(), uid: "0-1".parse().unwrap() },
        network_namespace: "/run/netns/pod".into(),
        network_namespace_inode: None,
        pod_directory: "/run/usnet/ports/0".into(),
        directory_source: None,
        mac: "02:00:00:00:00:01".into(),
        addresses: vec![Address { ip: "10.0.0.2".parse().unwrap(), prefix: 24 }],
        configuration_name: None,
        requested_rate_limit: RateLimit::default(),
        configuration_data: None,
        socket_only: false,
        taken_over: false,
        assignment: None,
        interface_index: None,
        invoked_ifname: None,
        ipam: None,
        id,
    }
}
