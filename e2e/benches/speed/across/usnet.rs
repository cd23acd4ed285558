//! An overlay of usnet: the agent programs it, and the plugin attaches a pod.

use super::nodes::{MTU, Node, VNI};
use crate::bulk::running_agent::{RunningAgent, folders};
use crate::calls::pod::{self, Pod};
use crate::host::programs::{Programs, timed};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use tempfile::NamedTempFile;
use usnet_crds::{Encapsulation, EngineKind, Mtu, NodeNetwork, NodeOverlay, PortType, UdpPort, Vni};

/// An overlay with these peers.
pub(crate) fn overlay(
    (engine, name): (EngineKind, &str),
    vni: i64,
    local: Ipv4Addr,
    peers: impl Iterator<Item = Ipv4Addr>,
) -> NodeNetwork {
    let mut network = pod::network(engine, name);
    network.port.port_type = PortType::Veth;
    network.bridge.mtu = Mtu::try_from(MTU).expect("an MTU");
    network.overlay = Some(NodeOverlay {
        encapsulation: Encapsulation::Kernel,
        underlay: None,
        vni: Vni::try_from(vni).expect("a VNI"),
        port: UdpPort::default(),
        local: local.into(),
        multicast_group: None,
        peers: Arc::new(peers.map(IpAddr::from).collect::<BTreeSet<_>>()),
    });
    network
}

/// Other nodes, by their numbers.
pub(crate) fn peers(count: u16) -> impl Iterator<Item = Ipv4Addr> {
    (1..=count).map(|number| Ipv4Addr::from_bits(0x0a00_0100 + u32::from(number)))
}

/// An agent of a node.
pub(crate) fn agent(node: &Node) -> RunningAgent {
    let (folders, roots) = folders();
    let roots = roots.with_socket(node.kind(), node.socket());
    RunningAgent::start((folders, roots.with_network_namespace(&node.namespace)))
}

/// Configures a node with one peer and one pod.
pub(crate) fn configure(programs: &Programs, node: &Node, peer: &Node, pod: usize) -> RunningAgent {
    const NETWORK: &str = "across";
    let mut agent = agent(node);
    let network = [overlay((node.kind(), NETWORK), VNI, node.address, [peer.address].into_iter())];
    agent.tell(&network);
    agent.wait(&network, true);
    let text = json!({"cniVersion": "1.1.0", "name": NETWORK, "type": "userspace", "network": NETWORK});
    let configuration = NamedTempFile::new().expect("a file");
    fs::write(configuration.path(), text.to_string()).expect("the configuration");
    let add = || timed(&mut Pod::numbered(&agent.roots, pod).command(programs, &agent.roots, "ADD", &configuration));
    node.within(add);
    agent
}
