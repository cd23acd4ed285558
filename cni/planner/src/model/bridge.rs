//! A bridge that an engine should have, and what owns bridges.

use crate::model::policy_zone::PolicyZone;
use std::fmt;
use usnet_crds::{Bridge, BridgeName, NetworkName, UplinkName};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BridgeOwner {
    Network(NetworkName),
    Uplink(UplinkName),
}

/// A bridge that an engine should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DesiredBridge {
    Network {
        network: NetworkName,
        bridge: Bridge,
        /// Where the connections of its pods are tracked; `None` if no policies restrict them.
        policy_zone: Option<PolicyZone>,
    },
    /// The bridge of an uplink has no settings: it learns, and everything else is the default of
    /// the engine.
    Uplink { uplink: UplinkName, name: BridgeName },
}

impl BridgeOwner {
    /// The network, if it is one.
    pub const fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Network(network) => Some(network),
            Self::Uplink(_) => None,
        }
    }

    /// The uplink, if it is one.
    pub const fn uplink(&self) -> Option<&UplinkName> {
        match self {
            Self::Uplink(uplink) => Some(uplink),
            Self::Network(_) => None,
        }
    }
}

impl fmt::Display for BridgeOwner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(network) => write!(formatter, "network {network}"),
            Self::Uplink(uplink) => write!(formatter, "uplink {uplink}"),
        }
    }
}

impl DesiredBridge {
    pub const fn name(&self) -> &BridgeName {
        match self {
            Self::Network { bridge, .. } => &bridge.name,
            Self::Uplink { name, .. } => name,
        }
    }

    pub fn owner(&self) -> BridgeOwner {
        match self {
            Self::Network { network, .. } => BridgeOwner::Network(network.clone()),
            Self::Uplink { uplink, .. } => BridgeOwner::Uplink(uplink.clone()),
        }
    }

    /// The network, if it is the bridge of one.
    pub const fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::Network { network, .. } => Some(network),
            Self::Uplink { .. } => None,
        }
    }

    /// The uplink, if it is the bridge of one.
    pub const fn uplink(&self) -> Option<&UplinkName> {
        match self {
            Self::Uplink { uplink, .. } => Some(uplink),
            Self::Network { .. } => None,
        }
    }
}
