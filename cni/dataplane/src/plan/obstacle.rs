//! What a plan leaves alone although a network needs it: only a person can move that.

use super::removal::{foreign_ports, is_desired_bridge};
use super::unusable;
use crate::desired::Desired;
use crate::observed::Observed;
use crate::port::PortName;
use std::collections::BTreeMap;
use std::fmt;
use usnet_crds::{BridgeName, NetworkName, NodeNetwork, Ownership};

/// What stands in the way of a network and only a person can move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A bridge or port of the bridge's name is there and is not the network's.
    BridgeExists {
        /// Its name.
        bridge: BridgeName,
    },
    /// The bridge that the network adopts is not there.
    BridgeMissing {
        /// Its name.
        bridge: BridgeName,
    },
    /// The bridge that the network adopts takes no ports of ours.
    BridgeUnusable {
        /// Its name.
        bridge: BridgeName,
        /// What is there.
        found: String,
    },
    /// A bridge that should go has ports that are not ours.
    ForeignPorts {
        /// Its name.
        bridge: String,
        /// The ports.
        ports: Vec<PortName>,
    },
}

impl fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BridgeExists { bridge } => write!(
                formatter,
                "bridge {bridge} already exists on this node and was not made for this network; it is left alone: remove it, or give the network another bridge name"
            ),
            Self::BridgeMissing { bridge } => write!(
                formatter,
                "bridge {bridge} is not on this node, and the network only uses what somebody else made (ownership Adopted): make it there, or choose other nodes"
            ),
            Self::BridgeUnusable { bridge, found } => write!(
                formatter,
                "bridge {bridge} cannot be adopted: {found}; it is left alone: change it, or make a network with another bridge"
            ),
            Self::ForeignPorts { bridge, ports } => {
                let names: Vec<_> = ports.iter().take(10).map(PortName::as_str).collect();
                write!(
                    formatter,
                    "bridge {bridge} has {} port(s) that usnet did not make ({}); it stays until they are removed",
                    ports.len(),
                    names.join(", ")
                )
            }
        }
    }
}

/// The networks that [`plan`](super::plan) cannot bring about, and why.
pub fn obstacles(desired: &Desired, observed: &Observed) -> BTreeMap<NetworkName, Obstacle> {
    let blocked = desired.networks.values().filter_map(|network| {
        let obstacle = match network.bridge.ownership {
            Ownership::Managed => managed(network, observed),
            Ownership::Adopted => adopted(network, observed),
        };
        Some((network.name.clone(), obstacle?))
    });
    let in_use = observed.bridges.iter().filter_map(|(name, bridge)| {
        let network = bridge.mark.as_ref()?;
        let ports: Vec<_> = foreign_ports(bridge).cloned().collect();
        let unwanted = !is_desired_bridge(desired, name, network);
        (unwanted && !ports.is_empty())
            .then(|| (network.clone(), Obstacle::ForeignPorts { bridge: name.clone(), ports }))
    });
    in_use.chain(blocked).collect()
}

/// What is in the way of a bridge of our own.
fn managed(network: &NodeNetwork, observed: &Observed) -> Option<Obstacle> {
    let name = network.bridge.name.as_str();
    let taken = match observed.bridges.get(name) {
        Some(bridge) => bridge.mark.as_ref() != Some(&network.name),
        None => observed.bridges.values().flat_map(|bridge| &bridge.ports).any(|(port, _)| port.as_str() == name),
    };
    taken.then(|| Obstacle::BridgeExists { bridge: network.bridge.name.clone() })
}

/// What is wrong with a bridge that somebody else has to make.
fn adopted(network: &NodeNetwork, observed: &Observed) -> Option<Obstacle> {
    let bridge = network.bridge.name.clone();
    let Some(shown) = observed.bridges.get(bridge.as_str()) else { return Some(Obstacle::BridgeMissing { bridge }) };
    unusable(Some(shown), &network.name).map(|found| Obstacle::BridgeUnusable { bridge, found })
}
