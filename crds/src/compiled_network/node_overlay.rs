//! The overlay of a network as one node has it: which VXLAN segment it is, and where the other
//! nodes of the network are.

use crate::{UdpPort, Vni};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// The VXLAN between the bridge of a network on this node and those on other nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeOverlay {
    /// The id of the VXLAN network, the same on all nodes.
    pub vni: Vni,
    /// The destination port of the encapsulated packets, the same on all nodes.
    pub port: UdpPort,
    /// The address of this node, from which it sends.
    pub local: IpAddr,
    /// Where it sends broadcasts, and frames to MAC addresses that it has not learned; none means
    /// to each peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multicast_group: Option<IpAddr>,
    /// The addresses of the other nodes that carry the network; none with a multicast group.
    /// Networks with the same nodes share them in memory.
    #[serde(default)]
    pub peers: Arc<BTreeSet<IpAddr>>,
}
