//! What a rule of a policy allows.

use super::pods::{PodAddresses, SelectorId};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Connections with any of the peers to any of the destination ports. An empty set has no member,
/// so the rule allows nothing without peers or without ports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PolicyRule {
    pub peers: PeerAddresses,
    /// Peers besides: pods that any of these selects.
    pub peer_pods: BTreeSet<SelectorId>,
    pub ports: DestinationPorts,
}

/// The addresses of the other side of a connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeerAddresses {
    Any,
    Within(BTreeSet<IpNet>),
}

/// The ports that a connection may have as its destination.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DestinationPorts {
    /// Any, and protocols without ports.
    Any,
    Within(BTreeSet<PortRange>),
}

/// Ports of a protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRange {
    pub protocol: TransportProtocol,
    /// The range contains its ends; the first is not after the last.
    pub first: u16,
    pub last: u16,
}

/// A protocol with ports whose connections engines track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum TransportProtocol {
    Tcp,
    Udp,
}

impl PolicyRule {
    /// Whether a peer is any address.
    pub const fn has_any_peer(&self) -> bool {
        matches!(self.peers, PeerAddresses::Any)
    }

    /// Whether connections with this address are among those that it allows.
    pub fn has_peer(&self, address: IpAddr, pods: &PodAddresses) -> bool {
        self.peers.contains(address) || pods.is_selected_by(address, &self.peer_pods)
    }

    /// How many peers and ports it names.
    pub fn size(&self) -> usize {
        let peers = match &self.peers {
            PeerAddresses::Any => 0,
            PeerAddresses::Within(prefixes) => prefixes.len(),
        };
        let ports = match &self.ports {
            DestinationPorts::Any => 0,
            DestinationPorts::Within(ranges) => ranges.len(),
        };
        peers + self.peer_pods.len() + ports
    }
}

impl PeerAddresses {
    pub fn contains(&self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Within(prefixes) => prefixes.iter().any(|prefix| prefix.contains(&address)),
        }
    }
}

impl DestinationPorts {
    /// Whether these are the ports of a connection; `None` is one of a protocol without ports.
    pub fn contain(&self, port: Option<(TransportProtocol, u16)>) -> bool {
        match (self, port) {
            (Self::Any, _) => true,
            (Self::Within(_), None) => false,
            (Self::Within(ranges), Some((protocol, port))) => {
                ranges.iter().any(|range| range.protocol == protocol && (range.first..=range.last).contains(&port))
            }
        }
    }
}
