//! Networks and attachments to ask for, and short forms of what the cases do again and again.

use std::collections::BTreeSet;
use std::path::PathBuf;
use usnet_crds::{Bridge, BridgeName, Mtu, NetworkName, NodeNetwork, Phase, Port, Queues, Vlan, VlanTag};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::desired::{Desired, DesiredAttachment, Presence, port_settings};
use usnet_dataplane::engine::{Engine, EngineError, OpError};
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Op, plan};
use usnet_dataplane::port::{AttachedPort, Connection, PortName, SocketPath};
use usnet_ovsdb::blocking::ready;

pub(crate) fn network(name: &str) -> NodeNetwork {
    let name: NetworkName = name.parse().expect("a network's name");
    NodeNetwork {
        generation: 1,
        phase: Phase::Active,
        engine: usnet_crds::Engine::OpenVswitch,
        bridge: Bridge { name: BridgeName::default_for(&name), mtu: Mtu::default() },
        port: Port::default(),
        allowed_namespaces: BTreeSet::new(),
        ipam: None,
        name,
    }
}

/// A network with another MTU and VLAN than the usual ones.
pub(crate) fn changed(network: &NodeNetwork, mtu: i64, tag: i64) -> NodeNetwork {
    let mut network = network.clone();
    network.bridge.mtu = Mtu::try_from(mtu).expect("an MTU");
    network.port.vlan = Some(Vlan::Access { tag: VlanTag::try_from(tag).expect("a tag") });
    network
}

pub(crate) fn attachment(container: &str) -> AttachmentId {
    AttachmentId { container: container.parse().expect("an id"), interface: "net1".parse().expect("a name") }
}

pub(crate) fn port_name(container: &str) -> PortName {
    PortName::of(&attachment(container))
}

pub(crate) fn port(container: &str, network: &NodeNetwork) -> AttachedPort {
    let socket = SocketPath::try_from(PathBuf::from(format!("/run/usnet-contract/{container}/net1.sock")));
    AttachedPort {
        name: port_name(container),
        bridge: network.bridge.name.clone(),
        connection: Connection::VhostUser { socket: socket.expect("a short path") },
        queues: Queues::default(),
        settings: port_settings(network),
    }
}

/// These networks, and these containers attached to the first of them.
pub(crate) fn desired(networks: &[NodeNetwork], containers: &[&str]) -> Desired {
    let attached = |container: &&str| {
        let port = port(container, &networks[0]);
        let network = networks[0].name.clone();
        (attachment(container), DesiredAttachment { network, port, presence: Presence::Required })
    };
    Desired { attachments: containers.iter().map(attached).collect(), ..Desired::new(networks.to_vec(), []) }
}

pub(crate) fn create_bridge(network: &NodeNetwork) -> Op {
    Op::CreateBridge { network: network.name.clone(), bridge: network.bridge.clone() }
}

pub(crate) fn create_port(container: &str, network: &NodeNetwork) -> Op {
    Op::CreatePort { network: network.name.clone(), attachment: attachment(container), port: port(container, network) }
}

pub(crate) fn try_apply(engine: &mut impl Engine, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
    ready(engine.apply(operations)).expect("a blocking engine")
}

pub(crate) fn apply(engine: &mut impl Engine, operations: &[Op]) -> Vec<Result<(), OpError>> {
    let results = try_apply(engine, operations).expect("an engine that answers");
    assert_eq!(results.len(), operations.len());
    results
}

pub(crate) fn observe(engine: &mut impl Engine) -> Observed {
    ready(engine.observe()).expect("a blocking engine").expect("an engine that answers")
}

/// Plans and applies, and expects that everything works and that nothing is left to do.
pub(crate) fn achieve(engine: &mut impl Engine, desired: &Desired) -> Vec<Op> {
    let operations = plan(desired, &observe(engine));
    for (operation, result) in operations.iter().zip(apply(engine, &operations)) {
        assert_eq!(result, Ok(()), "{operation}");
    }
    assert_eq!(plan(desired, &observe(engine)), []);
    operations
}
