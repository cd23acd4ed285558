//! The addresses of a test bed. They are the same in every test bed, because each has a network of
//! its own.

use std::net::{IpAddr, Ipv4Addr};

/// The control plane, and the router between nodes.
pub const CONTROL_PLANE: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);

/// The `kubernetes` Service: the first address of [`SERVICES`]. The control plane has it as a
/// second address, so that no kube-proxy is needed.
pub const KUBERNETES_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Addresses of Services.
pub const SERVICES: &str = "10.0.0.0/24";

/// What the control plane and the nodes share.
pub const FABRIC_PREFIX: u8 = 24;

/// The address of a node, counted from 0.
#[must_use]
pub fn node(index: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 200, 0, 10 + index))
}

/// The addresses of a node's pods.
#[must_use]
pub fn pods(index: u8) -> String {
    format!("10.244.{index}.0/24")
}
