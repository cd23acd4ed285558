//! Messages of the conditions of a node, and of its networks, which the agent writes.

use crate::types::names::{BridgeName, NetworkName, UplinkName};
use crate::{EngineKind, IpFamily};
use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

pub const PODS_ATTACHED: &str = "pods are still attached to it";
pub const BRIDGE_RECREATED: &str = "its bridge is being recreated";
pub const MANIFESTS_VALID: &str = "all manifests are valid";
pub const UPLINKS_UNKNOWN: &str =
    "UserspaceUplinks have not been read from the API server yet; an agent that cannot read them logs why";
/// Most ports in one message.
const PORTS_MAX: usize = 10;

/// Ready of a node is True.
pub const AGENT_READY: &str = "the agent works, and so does each engine that was ever connected on this node";

/// NetworksProgrammed of a node; `first` is a network that is not programmed, with its message.
pub fn networks_programmed(programmed: usize, total: usize, first: Option<(&str, &str)>) -> String {
    match first {
        None => format!("{programmed} of {total} networks are programmed"),
        Some((name, message)) => {
            format!("{programmed} of {total} networks are programmed; network {name}: {message}")
        }
    }
}

/// NetworksProgrammed of a node that has all networks, and not this uplink.
pub fn configuration_invalid(file: &str, problem: &str) -> String {
    format!("the configuration in file {file} cannot be used: {problem}")
}

pub fn uplink_not_programmed(name: &str, message: &str) -> String {
    format!("uplink {name}: {message}")
}

pub fn uplink_missing(uplink: &UplinkName) -> String {
    format!("there is no UserspaceUplink {uplink}: create it, or name another one in spec.topology")
}

pub fn underlay_missing(uplink: &UplinkName) -> String {
    format!(
        "UserspaceUplink {uplink} has no addresses for overlays: set spec.underlay of it, or use the encapsulation Kernel"
    )
}

pub fn underlay_exhausted(node: &str, number: u32, subnet: &dyn Display) -> String {
    format!(
        "node {node} has the number {number}, for which {subnet} (spec.underlay.subnet of the uplink) has no address: use a larger subnet there, or exclude the node with nodeSelector of the network"
    )
}

pub fn uplink_not_on_node(uplink: &UplinkName) -> String {
    format!(
        "no entry in spec.nics of UserspaceUplink {uplink} is for this node: add one whose nodeSelector matches its labels, or exclude the node with nodeSelector of the network"
    )
}

pub fn uplink_of_other_engine(uplink: &UplinkName, engine: EngineKind) -> String {
    format!("UserspaceUplink {uplink} has the engine {engine}: name one of the network's engine in spec.topology")
}

/// Ready of a node, and the message of each of its networks.
pub fn state_not_writable(problem: &dyn Display) -> String {
    format!(
        "pods cannot attach, because usnet's files on this node cannot be written ({problem}): free space there, or make the directory writable"
    )
}

pub fn record_unreadable(bridge: &str) -> String {
    format!(
        "bridge {bridge} is kept: it may have a port of an attachment whose record cannot be read on this node; the agent's log names the file, move it away if its pod is gone"
    )
}

pub fn not_observed(engine: EngineKind) -> String {
    format!("{engine} has not been observed yet")
}

pub fn manifests_invalid(problems: usize, first: &dyn Display) -> String {
    format!("the objects of invalid manifests are unchanged ({problems} in all): {first}")
}

pub fn connected(engine: EngineKind, version: Option<&str>) -> String {
    let version = version.map(|version| format!(" {version}")).unwrap_or_default();
    format!("connected to {engine}{version}")
}

pub fn reconnecting(engine: EngineKind) -> String {
    format!("reconnecting to {engine}")
}

pub fn vswitchd_stalled(socket: &Path, problem: &str) -> String {
    format!(
        "Open vSwitch's database at {} answers, but ovs-vswitchd does not apply changes: {problem}",
        socket.display()
    )
}

/// The problem for [`vswitchd_stalled`] where the process ended.
pub const VSWITCHD_ENDED: &str =
    "its process ended, and has not applied the configuration since: start it, and see its log";

/// The problem for [`vswitchd_stalled`] where changes are not carried out.
pub fn no_change_within(seconds: u64) -> String {
    format!("no change was applied for {seconds} s")
}

pub fn vpp_unreadable(socket: &Path, problem: &dyn Display) -> String {
    format!("VPP at {} cannot be observed: {problem}", socket.display())
}

/// Names the attached interfaces whose programs connected last, each with how long before, and
/// those without a connected program.
pub fn engine_ended(engine: EngineKind, connected: &[(String, Duration)], unconnected: &[&str]) -> String {
    let connected: Vec<_> = connected.iter().map(|(pod, before)| format!("{pod} {} before", ago(*before))).collect();
    let lists = [("connected last", connected.join(", ")), ("not connected", unconnected.join(", "))];
    let lists: Vec<_> = lists.into_iter().filter(|(_, pods)| !pods.is_empty()).collect();
    if lists.is_empty() {
        return format!("{engine} ended; no pod was attached whose program connects to it");
    }
    let lists: Vec<_> = lists.into_iter().map(|(what, pods)| format!("{what}: {pods}")).collect();
    format!(
        "{engine} ended. Programs {}. Unless it was stopped on purpose, one of them may have made it crash: see its log, and docs/operations.md#tenants",
        lists.join("; ")
    )
}

fn ago(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

pub fn bridge_conflict(engine: EngineKind, bridge: &BridgeName, owner: &NetworkName) -> String {
    let row = engine.traits();
    format!(
        "spec.bridge.{field}: {} {bridge} already belongs to network {owner}: it cannot be changed, so delete this network and create one with another, or delete network {owner}",
        row.bridge_noun,
        field = row.bridge_key.field(),
    )
}

/// Two networks adopt one bridge, and VLANs do not separate them.
pub fn adopted_bridge_conflict(engine: EngineKind, bridge: &BridgeName, owner: &NetworkName) -> String {
    let row = engine.traits();
    format!(
        "spec.bridge.{field}: network {owner} has adopted {} {bridge} as well, and VLANs do not separate the two: set spec.port.vlan in both, each to VLANs that the other one and its spec.attachments do not have, or delete one of them",
        row.bridge_noun,
        field = row.bridge_key.field(),
    )
}

pub const SLICES_UNKNOWN: &str = "the addresses of the nodes are not known yet: the agent cannot read UserspaceNodeSlices, which the controller writes";
pub const NO_API_SERVER: &str = "this agent runs without an API server, and so does not know the addresses of other nodes: use the topology NodeLocal";
pub const NODE_NOT_IN_SLICE: &str =
    "this node is in no UserspaceNodeSlice yet: the controller writes it as soon as the node has a UserspaceNodeState";
pub const fn no_underlay_address(family: IpFamily) -> &'static str {
    match family {
        IpFamily::V4 => {
            "the overlay runs between InternalIPs of IPv4, and this Node has none: kubelet sets it (--node-ip), see kubectl get node -o wide; where all nodes have IPv6 addresses, set spec.topology.overlay.ipFamily to IPv6"
        }
        IpFamily::V6 => {
            "the overlay runs between InternalIPs of IPv6, and this Node has none: kubelet sets it (--node-ip), see kubectl get node -o wide; where all nodes have IPv4 addresses, set spec.topology.overlay.ipFamily to IPv4"
        }
    }
}

pub fn not_selected(unmet: &str) -> String {
    format!("its nodeSelector does not select this node: {unmet}")
}

pub fn engine_never_seen(engine: EngineKind) -> String {
    format!(
        "{engine} has never been connected on this node, and a network without a nodeSelector is only on nodes that have its engine: start {engine} here, or run the pod on another node (kubectl get usns shows the engines)"
    )
}

pub fn compiled_network_unreadable(problem: &str) -> String {
    format!(
        "the agent of this node cannot read the compiled network ({problem}): use the same release of usnet for agents and controller"
    )
}

pub fn bridge_exists(bridge: &BridgeName) -> String {
    format!(
        "bridge {bridge} already exists on this node and is not owned by this network; it is not changed: remove it, or delete the network and create one with another bridge"
    )
}

pub fn bridge_missing(bridge: &BridgeName) -> String {
    format!(
        "bridge {bridge} does not exist on this node, and the network only adopts bridges (ownership Adopted): create it there, or select other nodes"
    )
}

pub fn bridge_unusable(bridge: &str, found: &str) -> String {
    format!(
        "bridge {bridge} cannot be adopted: {found}; it is not changed: change it, or create a network with another bridge"
    )
}

/// `found` of [`bridge_unusable`]: the bridge belongs to another network.
pub fn bridge_of_network(owner: &NetworkName) -> String {
    format!("it is owned by usnet for network {owner}")
}

/// `found` of [`bridge_unusable`]: the bridge is that of an uplink.
pub fn bridge_of_uplink(uplink: &UplinkName) -> String {
    format!("it is owned by usnet for uplink {uplink}: set spec.topology of the network to that uplink instead")
}

pub fn foreign_ports(bridge: &str, ports: &[&str]) -> String {
    let named = ports.iter().take(PORTS_MAX).copied().collect::<Vec<_>>().join(", ");
    format!(
        "bridge {bridge} has {} port(s) that are not owned by usnet ({named}); it is kept until they are removed",
        ports.len()
    )
}

pub fn bridge_pending(engine: EngineKind, bridge: &BridgeName, last_error: Option<&str>) -> String {
    let last = last_error.map(|error| format!(" (last attempt: {error})")).unwrap_or_default();
    format!("{engine} has not brought up bridge {bridge} yet{last}")
}

pub fn bridge_failed(engine: EngineKind, bridge: &BridgeName, error: &str) -> String {
    format!("{engine} could not bring up bridge {bridge}: {error}")
}

pub fn port_failed(engine: EngineKind, port: &dyn Display, attachment: &dyn Display, error: &str) -> String {
    format!("{engine} could not bring up port {port} of attachment {attachment}: {error}")
}

/// The engine has no ports of the type of the attachment's.
pub fn port_unusable(interface: &dyn Display, reason: &str) -> String {
    format!("interface {interface}: {reason}")
}

/// The interface of a pod has the datapath Kernel, although its network asks for AF_XDP.
pub fn without_af_xdp(interface: &dyn Display, why: &str) -> String {
    format!("interface {interface} has the datapath Kernel, which is slower: the engine refused AF_XDP: {why}")
}

/// What is at the path on which the program of a pod should listen, while it is not connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodSocket {
    /// The engine listens, and the program connects.
    OfEngine,
    /// There is nothing.
    Absent,
    /// A socket is there, and no program answers.
    Abandoned,
    /// Something other than a socket is there.
    Other,
    /// The agent cannot see the path.
    Unknown,
}

pub fn not_connected(interface: &dyn Display, engine: EngineKind, socket: &str, found: PodSocket) -> String {
    let remedy = match found {
        PodSocket::OfEngine => format!("it has to connect to {socket} (client side); {engine} listens there"),
        PodSocket::Unknown => format!("it has to listen on {socket} (server side); {engine} connects to it"),
        PodSocket::Absent => {
            format!("it has to listen on {socket} (server side); there is no socket, so no program has begun to")
        }
        PodSocket::Abandoned => format!(
            "{socket} is there and no program answers: one that was killed left it, and none can listen there again: \
             remove it before the start (rm -f)"
        ),
        PodSocket::Other => {
            format!("it has to listen on {socket} (server side); what is there is no socket: remove it")
        }
    };
    format!("interface {interface}: no program of the pod is connected to {engine}: {remedy}")
}

pub fn device_missing(interface: &dyn Display, device: &dyn Display) -> String {
    format!(
        "interface {interface}: device {device}, its end on the node, is gone, and with it the interface in the pod: \
         another program deleted it; delete the pod, whose successor gets a new one"
    )
}

/// The engine has no memory for the packets of a port whose program is connected.
pub fn no_memory(interface: &dyn Display, engine: EngineKind) -> String {
    match engine {
        EngineKind::OpenVswitch => format!(
            "interface {interface}: Open vSwitch has no DPDK memory for this port, so it carries no packets: raise \
             other_config:dpdk-socket-mem (without hugepages -m in dpdk-extra) and restart ovs-vswitchd, or run fewer \
             such pods on the node"
        ),
        EngineKind::Vpp => format!(
            "interface {interface}: VPP has no memory for this port, so it carries no packets: raise buffers-per-numa \
             or main-heap-size in its startup.conf and restart it, or run fewer such pods on the node"
        ),
    }
}

pub fn socket_unusable(interface: &dyn Display, error: &str) -> String {
    format!("interface {interface}: the pod's volume has no place for its socket: {error}")
}

/// The switch of Open vSwitch forwards without its database, so that packets may pass all the same.
pub fn pod_without_engine(engine: EngineKind, node: &str, network: &NetworkName) -> String {
    format!(
        "{engine} on node {node} cannot be reached: the interfaces on network {network} may carry no packets until it \
         is back; then usnet attaches them again"
    )
}

pub fn pod_on_draining_network(network: &NetworkName, node: &str) -> String {
    format!(
        "network {network} was deleted or no longer selects node {node}: the interfaces of this pod work until the pod \
         is deleted, and no other pod can attach there; delete the pod to complete the removal"
    )
}

/// What was attempted on a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortChange {
    /// The port does not exist yet.
    Create,
    /// The settings of the port differ.
    Update,
    /// The port is not desired as it is.
    Delete,
}

pub fn port_change_failed(change: PortChange, port: &dyn Display, attachment: &dyn Display, why: &str) -> String {
    let change = match change {
        PortChange::Create => "create",
        PortChange::Update => "update",
        PortChange::Delete => "delete",
    };
    format!("cannot {change} port {port} of attachment {attachment}: {why}")
}

/// `what` is an object such as `bridge br0`.
pub fn object_exists(what: &str) -> String {
    format!(
        "{what} already exists on this node and is not owned by usnet; it was not changed: remove it, or use another name"
    )
}

pub fn bridge_not_ready(bridge: &str) -> String {
    format!("bridge {bridge} does not exist or is not owned by this network; the agent repairs it")
}

pub fn port_not_found(port: &dyn Display) -> String {
    format!("port {port} does not exist or is not owned by this attachment; the agent repairs it")
}

pub fn port_differs(port: &dyn Display, found: &str) -> String {
    format!("port {port} already exists and differs from the requested port ({found}); it must be removed first")
}

pub fn socket_in_use(socket: &Path) -> String {
    format!("socket {} is already used by another port", socket.display())
}

pub fn tunnel_exists(tunnel: &str, interface: &str) -> String {
    format!("{tunnel} already exists as interface {interface}, which usnet does not own: remove it, or use another VNI")
}

pub fn no_socket_id(count: usize) -> String {
    format!(
        "all {count} memif socket ids of usnet are in use: configure a larger range with --memif-socket-ids of the agent"
    )
}

pub fn bridge_in_use(bridge: &str) -> String {
    format!("bridge {bridge} still has ports or is not owned by this network; it was not changed")
}

/// `what` is an object such as `port p1`.
pub fn engine_refused(what: &str, error: &str) -> String {
    format!("{what} could not be configured: the engine reports {error:?}")
}
