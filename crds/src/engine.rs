//! The engines, and what each of them supports.

use crate::types::bridge_domain::BridgeDomainId;
use crate::types::limits::{MAC_AGE_OVS, MAC_AGE_VPP, MacAge};
use crate::types::names::{BridgeName, NetworkName};
use crate::types::port_type::PortType;
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

impl EngineKind {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::OpenVswitch, Self::Vpp];

    /// The default bridge of a network.
    pub fn default_bridge(self, network: &NetworkName) -> BridgeName {
        match self {
            Self::OpenVswitch => BridgeName::default_for(network),
            Self::Vpp => BridgeDomainId::default_for(network).into(),
        }
    }

    /// Whether this engine accepts an age of MAC addresses. VPP counts whole minutes.
    pub fn accepts(self, age: MacAge) -> bool {
        let seconds = age.get();
        match self {
            Self::OpenVswitch => MAC_AGE_OVS.contains(&seconds),
            Self::Vpp => MAC_AGE_VPP.contains(&seconds) && seconds.is_multiple_of(*MAC_AGE_VPP.start()),
        }
    }

    /// What generated names begin with.
    const fn short_name(self) -> &'static str {
        match self {
            Self::OpenVswitch => "ovs",
            Self::Vpp => "vpp",
        }
    }

    /// The default port type: what most programs for this engine support.
    pub const fn default_port_type(self) -> PortType {
        match self {
            Self::OpenVswitch => PortType::VhostUser,
            Self::Vpp => PortType::Memif,
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpenVswitch => formatter.write_str("Open vSwitch"),
            Self::Vpp => formatter.write_str("VPP"),
        }
    }
}

impl NetworkName {
    /// The name of the network that is generated for a bridge: `ovs-` or `vpp-` and the name of the
    /// bridge, converted where that is no DNS label. Two bridges never share a name.
    pub fn for_bridge(engine: EngineKind, bridge: &BridgeName) -> Self {
        Self::generated(engine.short_name(), bridge)
    }
}
