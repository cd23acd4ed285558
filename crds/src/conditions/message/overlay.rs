//! Messages about the overlay of a network on a node, which the agent writes.

use crate::{EngineKind, Mtu, NetworkName};
use std::fmt::Display;
use std::net::IpAddr;

pub const DEVICE_PENDING: &str = "its VXLAN device is being created on this node";

pub const MISSING_PRIVILEGE: &str = "the agent may not create VXLAN devices on this node: an overlay needs the node's network namespace (hostNetwork: true) and CAP_NET_ADMIN, which config/overlays/node-local does not give the agent; install config/default, or set spec.topology of the network to NodeLocal";

pub fn address_missing(address: IpAddr) -> String {
    format!(
        "no device of this node has {address}, the node's InternalIP, from which the overlay sends: add the address, correct kubelet's --node-ip, or give the agent the node's network namespace (hostNetwork: true)"
    )
}

pub fn vni_taken(vni: u32, port: u16, device: &dyn Display) -> String {
    format!(
        "VXLAN device {device} of this node already has VNI {vni} at UDP port {port}; it is not changed: remove it, or set another vni or port in spec.topology.overlay"
    )
}

pub fn vni_of_network(vni: u32, port: u16, network: &NetworkName, engine: EngineKind) -> String {
    format!(
        "network {network} of {engine} already has VNI {vni} at UDP port {port} on this node, and a node has one end of a segment: exclude the node with nodeSelector of one of the two networks"
    )
}

pub fn port_taken(port: u16, device: Option<&dyn Display>) -> String {
    let holder = device.map_or_else(
        || "a program or device of this node (see ss -lunp)".to_owned(),
        |device| format!("VXLAN device {device} of this node"),
    );
    format!(
        "{holder} already has UDP port {port}; it is not changed: remove it, or set another port in spec.topology.overlay"
    )
}

pub fn mtu_too_large(mtu: Mtu, overhead: u32, underlay: &str, underlay_mtu: u32) -> String {
    format!(
        "frames with the network's MTU {mtu} and the {overhead} bytes of VXLAN do not fit into {underlay} of this node, whose MTU is {underlay_mtu}: set bridge.mtu to {} or less, or the MTU of {underlay} to {} or more",
        underlay_mtu.saturating_sub(overhead),
        u32::from(mtu.get()) + overhead,
    )
}

pub fn port_failed(engine: EngineKind, device: &dyn Display, problem: &str) -> String {
    format!("{engine} cannot use device {device} of the network: {problem}")
}

pub fn device_failed(device: &dyn Display, problem: &dyn Display) -> String {
    format!("VXLAN device {device}: {problem}")
}

pub const TUNNELS_PENDING: &str = "its tunnels to the other nodes are being created on this node";

pub fn tunnel_failed(engine: EngineKind, peer: IpAddr, problem: &str) -> String {
    format!("{engine} cannot use the tunnel to {peer}: {problem}")
}

pub fn unprotected(problem: &str) -> String {
    format!(
        "the agent cannot make the rules (nftables, table inet usnet) that keep packets of strangers out of overlays: {problem}; what is connected stays so, and new VXLAN devices are not created"
    )
}
