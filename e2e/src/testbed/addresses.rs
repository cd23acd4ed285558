//! The addresses of a test bed. They are the same in all test beds, whose networks are isolated.

use std::net::{IpAddr, Ipv4Addr};

/// The address of the control plane, which also routes between nodes.
pub const CONTROL_PLANE: Ipv4Addr = Ipv4Addr::new(10, 200, 0, 1);

/// The address of the `kubernetes` Service, the first of [`SERVICES`]. It is a second address of
/// the control plane, so no kube-proxy is needed.
pub const KUBERNETES_SERVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// The subnet of Services.
pub const SERVICES: &str = "10.0.0.0/24";

/// The prefix length of the network of the control plane and the nodes.
pub const FABRIC_PREFIX: u8 = 24;

/// Returns the address of a node; `index` counts from 0.
#[must_use]
pub fn node(index: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 200, 0, 10 + index))
}

/// Returns the subnet of a node's pods.
#[must_use]
pub fn pods(index: u8) -> String {
    format!("10.244.{index}.0/24")
}
