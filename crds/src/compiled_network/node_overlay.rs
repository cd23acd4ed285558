//! The overlay of a network as one node has it: which VXLAN segment it is, and where the other
//! nodes of the network are.

use crate::{Encapsulation, UdpPort, UplinkName, VlanTag, Vni};
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
    #[serde(default, skip_serializing_if = "is_kernel")]
    pub encapsulation: Encapsulation,
    /// Where the engine has its address; none with the encapsulation Kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub underlay: Option<NodeUnderlay>,
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

/// The NIC over which an engine sends encapsulated packets itself, and what its address needs
/// there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeUnderlay {
    /// The uplink that has the NIC.
    pub uplink: UplinkName,
    /// The VLAN of the packets on the NIC; none means untagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanTag>,
    /// The length of the prefix of its subnet, in which all peers are.
    pub prefix_length: u8,
}

fn is_kernel(encapsulation: &Encapsulation) -> bool {
    *encapsulation == Encapsulation::Kernel
}
