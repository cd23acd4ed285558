//! The node itself in a network: what users write and its rules in CEL and in Rust (`spec`), and
//! the validated form, which nodes read.

#[cfg(feature = "api")]
pub(super) mod spec;

#[cfg(feature = "api")]
pub use spec::NodeAccessSpec;

use crate::InterfaceAddress;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The addresses of the node in a network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct NodeAccess {
    /// The addresses, at most one of each family.
    #[cfg_attr(feature = "api", schemars(length(max = 2)), schemars(extend("x-kubernetes-list-type" = "atomic")))]
    pub addresses: Vec<InterfaceAddress>,
    /// Whether the nodes of the network are in one segment: each has the addresses that come later
    /// by its number then. Otherwise all have the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub per_node: bool,
}

impl NodeAccess {
    /// The addresses of the node with this number; none if a subnet ends before.
    pub fn of_node(&self, number: u32) -> Option<Self> {
        let later = if self.per_node { number } else { 0 };
        let addresses = self.addresses.iter().map(|address| address.after(later).filter(|own| own.is_host()));
        Some(Self { addresses: addresses.collect::<Option<_>>()?, per_node: false })
    }

    /// Whether an address is one of them.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|own| own.ip() == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_one_segment_have_addresses_of_their_own() {
        let addresses = vec!["10.1.0.250/24".parse().unwrap(), "fd00::1/64".parse().unwrap()];
        let access = NodeAccess { addresses, per_node: true };
        let of = |access: &NodeAccess, number| {
            let own = access.of_node(number)?;
            Some(own.addresses.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(of(&access, 4).unwrap(), ["10.1.0.254/24", "fd00::5/64"]);
        assert_eq!(of(&access, 5), None, "a broadcast address");
        assert_eq!(of(&access, 6), None, "another subnet");
        let same = NodeAccess { per_node: false, ..access };
        assert_eq!(of(&same, 7).unwrap(), ["10.1.0.250/24", "fd00::1/64"]);
        assert!(same.has([10, 1, 0, 250].into()) && !same.has([10, 1, 0, 251].into()));
    }
}
