//! Networks, attachments and helpers for the cases.

use crate::switch::Switch;
use std::process::Command;
use usnet_crds::{
    Bridge, EngineKind as Kind, Mtu, Namespaces, NetworkName, NodeNetwork, Phase, Policies, Port, RateLimit, Vlan,
    VlanTag,
};
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::bridge::{BridgeOwner, DesiredBridge};
use usnet_dataplane::bridge_settings::BridgeMtu;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::{BlockingDriver, EngineError, OpError};
use usnet_dataplane::observed::Observed;
use usnet_dataplane::owner::PortOwner;
use usnet_dataplane::plan::{Op, diff};
use usnet_dataplane::port::{AttachedPort, DesiredPort, DeviceName, PortName, PortSettings};
use usnet_planner::testing::desired_port;

/// Values that fit a switch.
pub(crate) trait Values: Switch {
    fn network(&self, name: &str) -> NodeNetwork {
        let name: NetworkName = name.parse().expect("a network's name");
        NodeNetwork {
            generation: 1,
            phase: Phase::Active,
            engine: Self::KIND,
            bridge: Bridge::named(Self::KIND.default_bridge(&name)),
            port: Port::default(),
            namespaces: Namespaces::default(),
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

    fn port(&self, container: &str, network: &NodeNetwork) -> AttachedPort {
        AttachedPort {
            name: port_name(container),
            bridge: network.bridge.name.clone(),
            ownership: network.bridge.ownership,
            backend: self.backend(container),
            queues: network.port.queues,
            ring_size: network.port.ring_size,
            secret: None,
            settings: PortSettings::of_pod(network, "default", container, RateLimit::default()),
            without_af_xdp: None,
        }
    }

    fn desired_port(&self, container: &str, network: &NodeNetwork) -> DesiredPort {
        desired_port(&network.name, &attachment(container), &self.port(container, network))
    }

    /// These networks, and these containers attached to the first of them.
    fn desired(&self, networks: &[NodeNetwork], containers: &[&str]) -> Desired {
        let attached = containers.iter().map(|container| (*container, &networks[0]));
        self.with_pods(Desired::new(networks.to_vec(), []), attached)
    }

    /// With these containers attached, each to a network.
    fn with_pods<'a>(
        &self,
        mut desired: Desired,
        pods: impl IntoIterator<Item = (&'a str, &'a NodeNetwork)>,
    ) -> Desired {
        for (container, network) in pods {
            let port = self.desired_port(container, network);
            desired.ports.insert(port.owner.owner.clone(), port);
        }
        desired
    }

    fn create_port(&self, container: &str, network: &NodeNetwork) -> Op {
        create_port(&network.name, &attachment(container), &self.port(container, network))
    }

    fn remove_port_op(&self, container: &str, network: &NodeNetwork) -> Op {
        Op::RemovePort {
            bridge: Some(network.bridge.name.to_string()),
            port: port_name(container),
            owner: PortOwner::new(&network.name, &attachment(container)),
            backend: Some(self.backend(container)),
            interface_index: None,
        }
    }

    fn bridge_mtu(&self, network: &NodeNetwork) -> BridgeMtu {
        match Self::KIND {
            Kind::OpenVswitch => BridgeMtu::Set(network.bridge.mtu.into()),
            Kind::Vpp => BridgeMtu::OfPortsOnly,
        }
    }
}

impl<S: Switch> Values for S {}

pub(crate) fn tag(number: i64) -> VlanTag {
    VlanTag::try_from(number).expect("a tag")
}

/// An access port's VLAN.
pub(crate) fn access(number: i64) -> Vlan {
    Vlan::Access { tag: tag(number) }
}

/// A network with another MTU and VLAN than the usual ones.
pub(crate) fn changed(network: &NodeNetwork, mtu: i64, tag: i64) -> NodeNetwork {
    let mut network = network.clone();
    network.bridge.mtu = Mtu::try_from(mtu).expect("an MTU");
    network.port.vlan = Some(access(tag));
    network
}

pub(crate) fn attachment(container: &str) -> AttachmentId {
    AttachmentId { container: container.parse().expect("an id"), interface: "net1".parse().expect("a name") }
}

/// Creates the veth pair of a container, as the plugin does before it creates the port. The pod's
/// end stays in the same namespace. The kernel sends nothing of its own on either end.
pub(crate) fn create_veth_pair(device: &DeviceName, command: impl Fn(&str) -> Command) {
    let peer = device.as_str().replace("vhu", "pod");
    let pair = ["link", "add", device.as_str(), "type", "veth", "peer", "name", &peer];
    // It may be there.
    let _output = command("ip").args(pair).output().expect("ip");
    for end in [device.as_str(), &peer] {
        for setting in [&["addrgenmode", "none"][..], &["up"]] {
            let set = command("ip").args(["link", "set", end]).args(setting).status().expect("ip");
            assert!(set.success(), "no device {end}");
        }
    }
}

pub(crate) fn port_name(container: &str) -> PortName {
    PortName::of(&attachment(container))
}

/// The name of a network's bridge.
pub(crate) fn bridge(network: &NodeNetwork) -> &str {
    network.bridge.name.as_str()
}

pub(crate) fn create_port(network: &NetworkName, attachment: &AttachmentId, port: &AttachedPort) -> Op {
    Op::CreatePort { port: desired_port(network, attachment, port).into() }
}

fn desired_bridge(network: &NodeNetwork) -> DesiredBridge {
    DesiredBridge::Network { network: network.name.clone(), bridge: network.bridge.clone(), policy_zone: None }
}

pub(crate) fn create_bridge(network: &NodeNetwork) -> Op {
    Op::CreateBridge { bridge: desired_bridge(network) }
}

pub(crate) fn update_bridge(network: &NodeNetwork) -> Op {
    Op::UpdateBridge { bridge: desired_bridge(network) }
}

pub(crate) fn remove_bridge(network: &NodeNetwork) -> Op {
    Op::RemoveBridge { bridge: network.bridge.name.to_string(), owner: BridgeOwner::Network(network.name.clone()) }
}

/// Whether an operation is about an uplink or what depends on one.
pub(crate) fn is_of_uplink(operation: &Op) -> bool {
    !matches!(operation.kind(), "CreateBridge" | "CreatePort")
}

pub(crate) fn bridge_missing(network: &NodeNetwork) -> Result<(), OpError> {
    Err(OpError::BridgeMissing { bridge: network.bridge.name.to_string() })
}

/// Whether an operation was rejected because usnet does not own the network's bridge.
pub(crate) fn is_foreign(result: &Result<(), OpError>, network: &NodeNetwork) -> bool {
    matches!(result, Err(OpError::Foreign { what }) if what.split(' ').next_back() == Some(bridge(network)))
}

pub(crate) fn try_apply(
    engine: &mut impl BlockingDriver,
    operations: &[Op],
) -> Result<Vec<Result<(), OpError>>, EngineError> {
    engine.apply(operations)
}

pub(crate) fn apply(engine: &mut impl BlockingDriver, operations: &[Op]) -> Vec<Result<(), OpError>> {
    let results = try_apply(engine, operations).expect("an engine that answers");
    assert_eq!(results.len(), operations.len());
    results
}

pub(crate) fn try_observe(engine: &mut impl BlockingDriver) -> Result<Observed, EngineError> {
    engine.observe()
}

pub(crate) fn observe(engine: &mut impl BlockingDriver) -> Observed {
    try_observe(engine).expect("an engine that answers")
}

/// Plans and applies, and asserts that all operations succeed, that the next plan is empty, and
/// that reading what the operations were about tells the same as reading everything.
pub(crate) fn converge(engine: &mut impl BlockingDriver, desired: &Desired) -> Vec<Op> {
    let before = observe(engine);
    let operations = diff(desired, &before);
    for (operation, result) in operations.iter().zip(apply(engine, &operations)) {
        assert_eq!(result, Ok(()), "{operation}");
    }
    let observed = observe(engine);
    assert_eq!(diff(desired, &observed), []);
    assert_eq!(engine.observe_changed(before, &operations).expect("an engine that answers"), observed);
    operations
}
