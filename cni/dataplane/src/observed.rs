//! What an engine shows, read at one moment.

use crate::port::{PortBackend, PortName, PortOwner};
use std::collections::BTreeMap;
use usnet_crds::{MacLearning, NetworkName, RateLimit, Vlan};

/// Every bridge of an engine. Names are as the engine has them, because not every bridge is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// By name; a bridge domain of VPP by its id in digits.
    pub bridges: BTreeMap<String, ObservedBridge>,
    /// Ports of ours that are on no bridge: half-made ones, and those that somebody took off. Open vSwitch has none.
    pub unbridged_ports: BTreeMap<PortName, ObservedPort>,
}

/// One bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedBridge {
    /// The network that it belongs to; none means that it is not ours.
    pub owner: Option<NetworkName>,
    /// Whether it is of the kind that we make (Open vSwitch: `datapath_type=netdev`; VPP: it forwards, floods and answers no ARP itself).
    pub has_supported_datapath: bool,
    /// Why no port of ours can work on it, whoever made it; none when one can.
    pub adoption_blocker: Option<String>,
    /// Its MTU.
    pub mtu: BridgeMtu,
    /// Whether it learns where MAC addresses are.
    pub mac_learning: MacLearning,
    /// How long it remembers them, in seconds; none means the engine's default.
    pub mac_age_seconds: Option<i64>,
    /// Whether the engine runs it, or why not.
    pub state: ElementState,
    /// Its ports, without the bridge's own.
    pub ports: BTreeMap<PortName, ObservedPort>,
}

/// The MTU of a bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BridgeMtu {
    /// The engine's bridges have none, only their ports do (VPP).
    OfPortsOnly,
    /// Nobody asked for one.
    Unset,
    /// The MTU that was asked for, in bytes.
    Set(i64),
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedPort {
    /// The attachment that it belongs to; none means that it is not ours.
    pub owner: Option<PortOwner>,
    /// How it meets its pod; none means that it is of a kind that we do not make.
    pub backend: Option<PortBackend>,
    /// The MTU that was asked for, in bytes.
    pub mtu: Option<i64>,
    /// How its frames are tagged.
    pub tagging: Tagging,
    /// How much it may send and receive; none means limits that are not as we set them.
    pub rate_limit: Option<RateLimit>,
    /// Whether it may forward: the admin state of VPP. Open vSwitch has none, there it always may.
    pub is_enabled: bool,
    /// Whether the pod's program is there.
    pub peer: Peer,
    /// Whether the engine runs it, or why not.
    pub state: ElementState,
}

/// Whether the other end of a port's socket is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// It is.
    Connected,
    /// It is not, or the engine does not say.
    Absent,
}

/// How a port tags, as far as we use it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tagging {
    /// No VLAN was set.
    Untagged,
    /// In these VLANs.
    Vlan(Vlan),
    /// Anything else: somebody changed it.
    Other,
}

impl From<Option<Vlan>> for Tagging {
    /// How a port with this setting tags.
    fn from(vlan: Option<Vlan>) -> Self {
        vlan.map_or(Self::Untagged, Self::Vlan)
    }
}

/// Whether the engine runs what was asked of it. A database that accepted a request says nothing about that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementState {
    /// It runs.
    Running,
    /// Not yet, and no error is known.
    Pending,
    /// The engine could not, in its own words.
    Failed(String),
}
