//! Messages about gateways: of the agent, and of the controller ([`subnet_taken`]).

use crate::types::names::{BridgeName, RoutingDomain};
use ipnet::IpNet;

pub fn gateway_exists(bridge: &BridgeName, interface: &str) -> String {
    format!(
        "bridge {bridge} has interface {interface} as its gateway (BVI), which is not owned by usnet; it is not changed: remove it, or remove spec.gateway"
    )
}

pub fn gateway_held(neighbours: usize, seconds: u64) -> String {
    format!(
        "its gateway on this node had {neighbours} neighbours of one family, of the engine's table that all networks share: it is down for {seconds} s, and its neighbours are forgotten; find the pod that claims so many addresses, and delete it"
    )
}

pub fn subnet_taken((network, own): (&str, IpNet), (holder, taken): (&str, IpNet), domain: &RoutingDomain) -> String {
    format!(
        "spec.gateway.addresses: subnet {own} of network {network} overlaps with {taken} of network {holder} in routing domain {domain}, where each address is routed to one network only: use another subnet in spec.gateway and spec.ipam, or another routing domain or none; nodes keep what they have until then"
    )
}
