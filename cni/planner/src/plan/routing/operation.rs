//! The operations on gateways and routing tables.

use crate::model::routing::{NetworkGateway, RoutingTable};
use std::fmt;
use usnet_crds::NetworkName;

/// One operation on a gateway or a routing table. Each is refused for what usnet does not own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoutingOp {
    /// Deletes the gateway of a network.
    RemoveGateway { network: NetworkName },
    /// Creates a routing table for both families, as far as they are missing.
    CreateTable {
        /// A network that needs it.
        network: NetworkName,
        table: RoutingTable,
    },
    /// Creates a gateway, or changes what differs of it.
    SetGateway { gateway: NetworkGateway },
    /// Deletes a routing table that no gateway uses.
    RemoveTable { table: RoutingTable },
}

impl RoutingOp {
    /// The network that it is for; a table of several networks has none when it is deleted.
    pub fn network(&self) -> Option<&NetworkName> {
        match self {
            Self::RemoveGateway { network, .. } | Self::CreateTable { network, .. } => Some(network),
            Self::SetGateway { gateway } => Some(&gateway.network),
            Self::RemoveTable { table: RoutingTable::Network(network) } => Some(network),
            Self::RemoveTable { table: RoutingTable::Domain(_) } => None,
        }
    }

    pub fn is_removal(&self) -> bool {
        matches!(self, Self::RemoveGateway { .. } | Self::RemoveTable { .. })
    }

    /// The name of its kind in metrics.
    pub(in crate::plan) const fn kind(&self) -> &'static str {
        match self {
            Self::RemoveGateway { .. } => "RemoveGateway",
            Self::SetGateway { .. } => "SetGateway",
            Self::CreateTable { .. } => "CreateRoutingTable",
            Self::RemoveTable { .. } => "RemoveRoutingTable",
        }
    }

    /// What it is about, for an error.
    pub fn subject(&self) -> String {
        match self {
            Self::RemoveGateway { network } => format!("the gateway of network {network}"),
            Self::SetGateway { gateway } => format!("the gateway of network {}", gateway.network),
            Self::CreateTable { table, .. } | Self::RemoveTable { table } => table.to_string(),
        }
    }
}

impl fmt::Display for RoutingOp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemoveGateway { network } => write!(formatter, "remove the gateway of network {network}"),
            Self::CreateTable { table, .. } => write!(formatter, "create {table}"),
            Self::RemoveTable { table } => write!(formatter, "remove {table}"),
            Self::SetGateway { gateway } if gateway.is_held => {
                write!(formatter, "set the gateway of network {} down", gateway.network)
            }
            Self::SetGateway { gateway } => {
                let addresses = gateway.addresses.iter().map(|(ip, prefix)| format!("{ip}/{prefix}"));
                let addresses = addresses.collect::<Vec<_>>().join(" and ");
                let (network, bridge, table) = (&gateway.network, &gateway.bridge, &gateway.table);
                write!(formatter, "set {addresses} with {table} on the gateway of network {network} on bridge {bridge}")
            }
        }
    }
}
