//! The gateway of a network: what users write and its rules in CEL and in Rust (`spec`), and the
//! validated form, which nodes read.

#[cfg(feature = "api")]
pub(super) mod spec;

#[cfg(feature = "api")]
pub use spec::GatewaySpec;

use crate::{InterfaceAddress, MacAddress, NetworkName, RoutingDomain};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The engine's own addresses in a network, by which pods reach others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Gateway {
    /// The addresses, at most one of each family, are the same on all nodes.
    #[cfg_attr(feature = "api", schemars(length(max = 2)), schemars(extend("x-kubernetes-list-type" = "atomic")))]
    pub addresses: Vec<InterfaceAddress>,
    /// Networks with the same routing domain reach each other; none means that this network reaches
    /// no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_domain: Option<RoutingDomain>,
}

impl Gateway {
    /// The MAC address of a gateway, the same on all nodes: pods keep it when their network spans
    /// nodes.
    pub fn mac(network: &NetworkName) -> MacAddress {
        MacAddress::of(&format!("gateway {network}"))
    }

    /// The gateway's address in the subnet of an address.
    pub fn for_address(&self, address: IpAddr) -> Option<IpAddr> {
        self.addresses.iter().find(|own| own.subnet().contains(&address)).map(|own| own.ip())
    }

    /// Whether an address is one of the gateway's own.
    pub fn has(&self, address: IpAddr) -> bool {
        self.addresses.iter().any(|own| own.ip() == address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_the_gateway_of_its_subnet_and_each_network_its_own_mac() {
        let addresses = vec!["10.1.0.1/16".parse().unwrap(), "fd00:1::1/64".parse().unwrap()];
        let gateway = Gateway { addresses, routing_domain: None };
        let gateway_of = |ip: &str| gateway.for_address(ip.parse().unwrap()).map(|ip| ip.to_string());
        assert_eq!(gateway_of("10.1.7.9").as_deref(), Some("10.1.0.1"));
        assert_eq!(gateway_of("fd00:1::9").as_deref(), Some("fd00:1::1"));
        assert_eq!(gateway_of("10.2.0.9"), None);
        assert!(gateway.has("10.1.0.1".parse().unwrap()) && !gateway.has("10.1.0.2".parse().unwrap()));
        let mac = |network: &str| Gateway::mac(&network.parse().unwrap());
        assert!(mac("blue") != mac("red") && mac("blue") == mac("blue"));
    }
}
