//! The state of an engine at one moment.

use crate::model::bridge_settings::BridgeSettings;
use crate::model::owner::PortOwner;
use crate::model::port::{DeviceName, PortBackend, PortName};
use crate::model::routing::ObservedRouting;
use crate::model::tagging::Tagging;
use crate::model::underlay::{ObservedAddress, TunnelEnds};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use usnet_crds::{NetworkName, PortType, RateLimit, UplinkName};

/// All bridges of an engine, whether owned by usnet or not. Names are those of the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// By name; a bridge domain of VPP by its id in digits.
    pub bridges: BTreeMap<String, ObservedBridge>,
    /// Ports owned by usnet that are on no bridge: incomplete ones, those removed from their bridge
    /// by others, and NICs of uplinks. Open vSwitch has none.
    pub unbridged_ports: BTreeMap<PortName, ObservedPort>,
    /// Devices of the kernel that interfaces of others are on, with the names of these interfaces.
    /// In Open vSwitch ports have the names of their devices, and it has none here.
    pub taken_devices: BTreeMap<DeviceName, String>,
    /// The addresses of this node on NICs of uplinks.
    pub addresses: BTreeMap<UplinkName, ObservedAddress>,
    /// Gateways and routing tables. Open vSwitch has none.
    pub routing: ObservedRouting,
    /// The types of ports that the engine cannot have as it runs now, each with the reason and what
    /// to do. It may be another one after a restart of the engine.
    pub unusable_port_types: BTreeMap<PortType, String>,
}

/// One bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedBridge {
    /// The network that owns the bridge; `None` if usnet does not own it.
    pub owner: Option<NetworkName>,
    /// The uplink that owns the bridge; then no network does.
    pub uplink: Option<UplinkName>,
    /// Whether its datapath is one that usnet supports (Open vSwitch: `datapath_type=netdev`; VPP:
    /// it forwards and floods, and does not answer ARP).
    pub has_supported_datapath: bool,
    /// Why a network cannot adopt it; `None` if it can.
    pub adoption_blocker: Option<String>,
    /// Its settings.
    pub settings: BridgeSettings,
    /// Whether the engine runs it, or why not.
    pub state: ElementState,
    /// Its ports, without the bridge's own; also those to which its gateway routes.
    pub ports: BTreeMap<PortName, ObservedPort>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedPort {
    /// What owns the port; `None` if usnet does not own it.
    pub owner: Option<PortOwner>,
    /// The endpoint towards the pod; `None` if it is of a kind that usnet does not support.
    pub backend: Option<PortBackend>,
    /// The port at the other end of a patch port; `None` for all other ports.
    pub patch_peer: Option<PortName>,
    /// The ends of a tunnel that is as usnet creates them: frames from one tunnel are never sent to
    /// another. `None` for all other ports.
    pub tunnel: Option<TunnelEnds>,
    /// The requested MTU, in bytes.
    pub mtu: Option<i64>,
    /// How its frames are tagged.
    pub tagging: Tagging,
    /// The rate limits; `None` means limits that usnet does not set.
    pub rate_limit: Option<RateLimit>,
    /// The addresses that the engine routes to it.
    pub routed: BTreeSet<IpAddr>,
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
    /// It is not, or the engine does not report it.
    Absent,
}

/// Whether the engine runs what was configured. That a database accepted a request does not imply
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementState {
    /// It runs.
    Running,
    /// Not yet, and no error is known.
    Pending,
    /// The engine failed, with its error text.
    Failed(String),
}
