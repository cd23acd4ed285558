//! An uplink as one node has it: its agent connects the NIC to the engine, and the networks that
//! name the uplink to that NIC.

use super::nic::Nic;
use crate::{EngineKind, UplinkName, VlanTag};
use serde::{Deserialize, Serialize};

/// The uplink of a network, and the network's VLAN on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub struct NetworkUplink {
    /// The name of the UserspaceUplink.
    pub name: UplinkName,
    /// The VLAN of the network's frames on the NIC; none means untagged, which at most one network
    /// of the uplink is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanTag>,
}

/// An uplink as one node should have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeUplink {
    pub name: UplinkName,
    /// The `metadata.generation` of the UserspaceUplink that this was selected from.
    pub generation: i64,
    /// The engine that has the NIC.
    pub engine: EngineKind,
    /// The NIC: the first of the uplink's whose node selector fits the node.
    pub nic: Nic,
    /// What becomes of traffic of the node itself on that NIC.
    #[serde(default)]
    pub node_traffic: NodeTraffic,
}

/// Whether a NIC may have traffic of the node itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum NodeTraffic {
    /// A NIC with an address, a default route or a master is left alone.
    #[default]
    Refused,
    /// The node keeps its addresses and untagged frames; networks have tagged ones.
    Shared,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The devices have the form that they have in the API.
    #[test]
    fn an_uplink_is_read_and_written_as_in_the_node_file() {
        for device in [
            json!({"type": "Name", "name": "eth1"}),
            json!({"type": "MacAddress", "macAddress": "02:00:00:00:00:01"}),
            json!({"type": "PciAddress", "pciAddress": "0000:3b:00.0"}),
        ] {
            let text = json!({
                "name": "fab", "generation": 2, "engine": "OVS",
                "nic": {"device": device, "driver": "AFPacket"}, "nodeTraffic": "Shared",
            });
            let uplink: NodeUplink = serde_json::from_value(text.clone()).unwrap();
            assert_eq!(serde_json::to_value(&uplink).unwrap(), text);
        }
    }

    #[test]
    fn a_nic_of_dpdk_has_what_linux_does_not_say() {
        let device = json!({"type": "PciAddress", "pciAddress": "0000:3b:00.0"});
        let text = json!({"device": device, "driver": "DPDK", "bind": "WhenFree", "mtu": 9000, "queues": 4});
        let nic: Nic = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(&nic).unwrap(), text);
    }
}
