//! An uplink as one node has it: its agent connects the NIC to the engine, and the networks that
//! name the uplink to that NIC.

use crate::{EngineKind, MacAddress, NicName, PciAddress, UplinkName, VlanTag};
use serde::{Deserialize, Serialize};

/// The uplink of a network, and the network's VLAN on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub struct NetworkUplink {
    /// The name of the UserspaceUplink.
    pub name: UplinkName,
    /// The VLAN of its frames on the NIC; none means untagged, which at most one network of the
    /// uplink is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanTag>,
}

/// An uplink as one node should have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeUplink {
    /// Its name.
    pub name: UplinkName,
    /// The `metadata.generation` of the UserspaceUplink that this was selected from.
    pub generation: i64,
    /// Who has the NIC.
    pub engine: EngineKind,
    /// The NIC: the first of the uplink's whose node selector fits the node.
    pub nic: Nic,
    /// What becomes of traffic of the node itself on that NIC.
    #[serde(default)]
    pub node_traffic: NodeTraffic,
}

/// A NIC, and how the engine uses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    /// Which one.
    pub device: NicDevice,
    /// How the engine sends and receives.
    #[serde(default)]
    pub driver: NicDriver,
}

/// Which NIC.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum NicDevice {
    /// The one with this name in Linux.
    Name {
        /// The name.
        name: NicName,
    },
    /// The one with this MAC address.
    MacAddress {
        /// The address.
        mac_address: MacAddress,
    },
    /// The one at this PCI address.
    PciAddress {
        /// The address.
        pci_address: PciAddress,
    },
    /// Several as one, by the engine.
    Bond {
        /// The bond.
        bond: Bond,
    },
}

/// NICs that the engine uses as one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Bond {
    /// Their names in Linux, two at least.
    pub members: Vec<NicName>,
    /// Which of them carries frames.
    #[serde(default)]
    pub mode: BondMode,
}

/// Which member of a bond carries frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum BondMode {
    /// One of those whose link is up; another one when its link goes down.
    #[default]
    ActiveBackup,
}

/// How an engine sends and receives on a NIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum NicDriver {
    /// By a packet socket; the NIC stays with Linux.
    #[default]
    #[serde(rename = "AFPacket")]
    AfPacket,
    /// By an XDP socket; Linux sees none of the frames that arrive.
    #[serde(rename = "AFXDP")]
    AfXdp,
    /// By a driver of DPDK, or the engine's own; Linux has no such NIC any more.
    #[serde(rename = "DPDK")]
    Dpdk,
}

impl NicDriver {
    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AfPacket => "AFPacket",
            Self::AfXdp => "AFXDP",
            Self::Dpdk => "DPDK",
        }
    }
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
            json!({"type": "Bond", "bond": {"members": ["eth1", "eth2"], "mode": "ActiveBackup"}}),
        ] {
            let text = json!({
                "name": "fab", "generation": 2, "engine": "OVS",
                "nic": {"device": device, "driver": "AFPacket"}, "nodeTraffic": "Shared",
            });
            let uplink: NodeUplink = serde_json::from_value(text.clone()).unwrap();
            assert_eq!(serde_json::to_value(&uplink).unwrap(), text);
        }
    }
}
