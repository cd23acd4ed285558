//! Conflicts that a plan does not resolve although a network needs it: they require operator
//! action.

use super::matching::{adoption_blocker, is_desired_bridge};
use super::removal::foreign_ports;
use super::take_over::takes_bridge_over;
use crate::model::desired::Desired;
use crate::model::observed::Observed;
use crate::model::port::PortName;
use std::collections::BTreeMap;
use std::fmt;
use usnet_crds::conditions::message::{gateway, node as message};
use usnet_crds::{BridgeName, NetworkName, NodeNetwork, Ownership};

/// What blocks a network and requires operator action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// A bridge or port of the bridge's name is there and is not the network's.
    BridgeExists { bridge: BridgeName },
    /// The bridge that the network adopts is not there.
    BridgeMissing { bridge: BridgeName },
    /// The bridge to adopt does not support ports of usnet.
    BridgeUnusable { bridge: BridgeName, found: String },
    /// The bridge of a network with a gateway has another one.
    GatewayExists {
        bridge: BridgeName,
        /// The interface of that gateway.
        interface: String,
    },
    /// A bridge to delete has ports that usnet does not own.
    ForeignPorts { bridge: String, ports: Vec<PortName> },
}

impl fmt::Display for Blocker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match self {
            Self::BridgeExists { bridge } => message::bridge_exists(bridge),
            Self::BridgeMissing { bridge } => message::bridge_missing(bridge),
            Self::BridgeUnusable { bridge, found } => message::bridge_unusable(bridge.as_str(), found),
            Self::GatewayExists { bridge, interface } => gateway::gateway_exists(bridge, interface),
            Self::ForeignPorts { bridge, ports } => {
                let ports: Vec<_> = ports.iter().map(PortName::as_str).collect();
                message::foreign_ports(bridge, &ports)
            }
        };
        formatter.write_str(&message)
    }
}

/// The networks that [`plan`](super::plan) cannot converge, and why.
pub fn blockers(desired: &Desired, observed: &Observed) -> BTreeMap<NetworkName, Blocker> {
    let blocked = desired.networks.values().filter_map(|network| {
        let blocker = match network.bridge.ownership {
            Ownership::Managed if takes_bridge_over(network, desired, observed) => None,
            Ownership::Managed => managed(network, observed),
            Ownership::Adopted => adopted(network, observed),
        };
        Some((network.name.clone(), blocker?))
    });
    let in_use = observed.bridges.iter().filter_map(|(name, bridge)| {
        let network = bridge.network()?;
        let ports: Vec<_> = foreign_ports(bridge).cloned().collect();
        let not_desired = !is_desired_bridge(desired, name, network);
        (not_desired && !ports.is_empty())
            .then(|| (network.clone(), Blocker::ForeignPorts { bridge: name.clone(), ports }))
    });
    in_use.chain(blocked).collect()
}

/// What blocks a bridge that usnet owns.
fn managed(network: &NodeNetwork, observed: &Observed) -> Option<Blocker> {
    let name = network.bridge.name.as_str();
    let taken = match observed.bridges.get(name) {
        Some(bridge) => bridge.network() != Some(&network.name),
        None => observed.bridges.values().flat_map(|bridge| &bridge.ports).any(|(port, _)| port.as_str() == name),
    };
    let bridge = network.bridge.name.clone();
    if taken {
        return Some(Blocker::BridgeExists { bridge });
    }
    let interface = observed.routing.foreign_gateways.get(name).filter(|_| network.gateway.is_some())?;
    Some(Blocker::GatewayExists { bridge, interface: interface.clone() })
}

/// What blocks a bridge that is to be adopted.
fn adopted(network: &NodeNetwork, observed: &Observed) -> Option<Blocker> {
    let bridge = network.bridge.name.clone();
    let Some(actual) = observed.bridges.get(bridge.as_str()) else { return Some(Blocker::BridgeMissing { bridge }) };
    adoption_blocker(Some(actual), &network.name).map(|found| Blocker::BridgeUnusable { bridge, found })
}
