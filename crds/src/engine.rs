//! The engines, and one table of what each of them supports. Rules in CEL and in Rust, defaults,
//! messages, labels of metrics and names of conditions are lookups in this table: a new engine is
//! one variant of [`EngineKind`] and one row.

use crate::types::bridge_domain::BridgeDomainId;
use crate::types::names::{BridgeName, NETWORK_NAME_MAX, NetworkName, VPP_NETWORK_NAME_MAX};
use crate::types::number::EngineRange;
use crate::types::port_type::PortType;
use crate::types::vlan::VlanMode;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The software switch that carries a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum EngineKind {
    /// Open vSwitch with its userspace (netdev) datapath.
    #[serde(rename = "OVS")]
    OpenVswitch,
    /// VPP (fd.io).
    #[serde(rename = "VPP")]
    Vpp,
}

/// What one engine supports: a row of the table.
#[derive(Debug)]
pub struct EngineTraits {
    /// The name of the engine in the API and in the labels of metrics. `serde` has the same name.
    pub api_name: &'static str,
    /// The name of the engine in messages.
    pub label: &'static str,
    /// What the names of generated networks begin with.
    pub short_name: &'static str,
    /// The name of the engine in configurations of Intel's userspace CNI, `host.engine`.
    pub legacy_name: &'static str,
    /// The condition of a node that tells whether its agent is connected to the engine.
    pub connected_condition: &'static str,
    /// Where the engine listens on a node, below the root of the node's file system.
    pub socket: &'static str,
    /// The environment variable that names another socket.
    pub socket_variable: &'static str,
    /// The field by which users choose a bridge.
    pub bridge_key: BridgeKey,
    /// What the engine calls a bridge.
    pub bridge_noun: &'static str,
    /// The longest name of a network, in bytes.
    pub network_name_max: usize,
    /// Where the engine keeps the name of a network, which is why its length is limited.
    pub network_name_place: &'static str,
    /// The ages of MAC addresses that the engine accepts.
    pub mac_age: EngineRange,
    /// The default port type: what most programs for this engine support.
    pub default_port_type: PortType,
    /// The types of ports that the engine has.
    pub port_types: &'static [PortType],
    /// The types of ports on which the engine cannot limit what a pod sends.
    pub unlimited_egress: &'static [PortType],
    /// The types of ports of which users choose how the engine reads their queues.
    pub polled: &'static [PortType],
    /// The types of ports of which users choose how often the engine tries to send.
    pub retried: &'static [PortType],
    /// The types of ports that have the settings `port.veth`.
    pub veth_settings: &'static [PortType],
    /// The VLAN modes of ports.
    pub vlan_modes: &'static [VlanMode],
    /// Whether bridges learn MAC addresses for each VLAN, so that VLANs of one bridge are segments
    /// of their own.
    pub learns_per_vlan: bool,
    /// Whether the engine can be the gateway of a network.
    pub has_gateways: bool,
    /// Whether it is the bridge that checks what pods claim to be, and not each port by itself:
    /// then the bridge has to be usnet's own.
    pub guards_bridges: bool,
}

const OPEN_VSWITCH: EngineTraits = EngineTraits {
    api_name: "OVS",
    label: "Open vSwitch",
    short_name: "ovs",
    legacy_name: "ovs-dpdk",
    connected_condition: "OVSConnected",
    socket: "run/openvswitch/db.sock",
    socket_variable: "USNET_OVS_SOCKET",
    bridge_key: BridgeKey::Name,
    bridge_noun: "bridge",
    network_name_max: NETWORK_NAME_MAX,
    network_name_place: "external_ids",
    // `mac-aging-time` of a bridge.
    mac_age: EngineRange { minimum: 15, maximum: 3600, step: 1, unit: "seconds" },
    default_port_type: PortType::VhostUser,
    port_types: &[PortType::VhostUser, PortType::Veth],
    // The userspace datapath receives frames of kernel devices through a packet socket, before the
    // kernel polices them.
    unlimited_egress: &[PortType::Veth],
    // `pmd-maxsleep` is of the whole switch.
    polled: &[],
    retried: &[PortType::VhostUser],
    veth_settings: &[PortType::Veth],
    vlan_modes: &VlanMode::ALL,
    learns_per_vlan: true,
    has_gateways: false,
    guards_bridges: true,
};

const VPP: EngineTraits = EngineTraits {
    api_name: "VPP",
    label: "VPP",
    short_name: "vpp",
    legacy_name: "vpp",
    connected_condition: "VPPConnected",
    socket: "run/vpp/api.sock",
    socket_variable: "USNET_VPP_SOCKET",
    bridge_key: BridgeKey::Id,
    bridge_noun: "bridge domain",
    // VPP would truncate the tag that contains the name.
    network_name_max: VPP_NETWORK_NAME_MAX,
    network_name_place: "the tag of a bridge domain",
    // 1 to 255 whole minutes. With 0 entries never expire.
    mac_age: EngineRange { minimum: 60, maximum: 15_300, step: 60, unit: "seconds" },
    default_port_type: PortType::Memif,
    port_types: &[PortType::VhostUser, PortType::Memif, PortType::Veth, PortType::Tap],
    unlimited_egress: &[],
    // Packet sockets are always read by interrupts.
    polled: &[PortType::VhostUser, PortType::Memif],
    retried: &[],
    veth_settings: &[],
    // A bridge domain learns a MAC address once, not once for each VLAN.
    vlan_modes: &[VlanMode::Access],
    learns_per_vlan: false,
    has_gateways: true,
    guards_bridges: false,
};

/// The field by which users choose a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BridgeKey {
    /// `bridge.name`.
    Name,
    /// `bridge.id`, whose digits are the name of the bridge everywhere else.
    Id,
}

impl BridgeKey {
    pub const ALL: [Self; 2] = [Self::Name, Self::Id];

    /// The name of the field in `spec.bridge`.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Id => "id",
        }
    }
}

impl EngineKind {
    pub const ALL: [Self; 2] = [Self::OpenVswitch, Self::Vpp];

    pub const fn traits(self) -> &'static EngineTraits {
        match self {
            Self::OpenVswitch => &OPEN_VSWITCH,
            Self::Vpp => &VPP,
        }
    }

    /// The default bridge of a network.
    pub fn default_bridge(self, network: &NetworkName) -> BridgeName {
        match self.traits().bridge_key {
            BridgeKey::Name => BridgeName::default_for(network),
            BridgeKey::Id => BridgeDomainId::default_for(network).into(),
        }
    }

    pub const fn default_port_type(self) -> PortType {
        self.traits().default_port_type
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.traits().label)
    }
}

impl NetworkName {
    /// The name of the network that is generated for a bridge: the short name of the engine, `-`
    /// and the name of the bridge, converted where that is no DNS label. Two bridges never share a
    /// name.
    pub fn for_bridge(engine: EngineKind, bridge: &BridgeName) -> Self {
        Self::generated(engine.traits().short_name, bridge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MacAge;

    #[test]
    fn rows_agree_with_the_api_and_with_themselves() {
        for engine in EngineKind::ALL {
            let row = engine.traits();
            assert_eq!(serde_json::to_value(engine).unwrap(), row.api_name);
            assert!(row.port_types.contains(&row.default_port_type), "{engine}");
            // The rules look at `port.type` itself, which is not set for the default type.
            assert!(!row.unlimited_egress.contains(&row.default_port_type), "{engine}");
            assert!(
                row.mac_age.contains(MacAge::default().into()) && row.network_name_max <= NETWORK_NAME_MAX,
                "{engine}"
            );
        }
        for port_type in PortType::ALL {
            assert_eq!(serde_json::to_value(port_type).unwrap(), port_type.as_str());
        }
        for mode in VlanMode::ALL {
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
    }
}
