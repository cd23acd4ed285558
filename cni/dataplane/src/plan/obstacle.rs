//! What a plan leaves alone although a network needs it: only a person can move that.

use super::removal::{foreign_ports, is_desired_bridge};
use crate::desired::Desired;
use crate::observed::Observed;
use crate::port::PortName;
use std::collections::BTreeMap;
use std::fmt;
use usnet_crds::{BridgeName, NetworkName};

/// What stands in the way of a network and only a person can move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// A bridge or port of the bridge's name is there and is not the network's.
    BridgeExists {
        /// Its name.
        bridge: BridgeName,
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
    let exists = desired.networks.values().filter_map(|network| {
        let name = network.bridge.name.as_str();
        let taken = match observed.bridges.get(name) {
            Some(bridge) => bridge.mark.as_ref() != Some(&network.name),
            None => observed.bridges.values().flat_map(|bridge| &bridge.ports).any(|(port, _)| port.as_str() == name),
        };
        taken.then(|| (network.name.clone(), Obstacle::BridgeExists { bridge: network.bridge.name.clone() }))
    });
    let in_use = observed.bridges.iter().filter_map(|(name, bridge)| {
        let network = bridge.mark.as_ref()?;
        let ports: Vec<_> = foreign_ports(bridge).cloned().collect();
        let unwanted = !is_desired_bridge(desired, name, network);
        (unwanted && !ports.is_empty())
            .then(|| (network.clone(), Obstacle::ForeignPorts { bridge: name.clone(), ports }))
    });
    in_use.chain(exists).collect()
}
