//! The state of an engine at one moment.

use crate::model::bridge::BridgeOwner;
use crate::model::bridge_settings::BridgeSettings;
use crate::model::owner::PortOwner;
use crate::model::port::{DesiredPort, DeviceName, ObservedSettings, PortBackend, PortName};
use crate::model::routing::ObservedRouting;
use crate::model::underlay::ObservedAddress;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{NetworkName, PortType, UplinkName};

/// All bridges of an engine, whether owned by usnet or not. Names are those of the engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Bridges by name; a bridge domain of VPP by its id in digits.
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
    /// Why the engine cannot check what pods claim to be, and what to do; `None` if it can.
    pub unguardable: Option<String>,
    /// The bridges on which the policies of a network are not enforced, and the ports of its pods
    /// are closed, with the reason.
    pub unenforced: BTreeMap<String, PoliciesProblem>,
    /// What it can do with NICs that it drives itself.
    pub dpdk: DpdkSupport,
    /// Why the engine cannot have devices of pods by AF_XDP, and what to do; `None` if it can.
    pub without_af_xdp: Option<String>,
    /// The bridges on which pods may leave checksums and the splitting of packets to the engine, as
    /// it is configured. A running one may have another configuration until it starts again.
    pub finishing_bridges: BTreeSet<String>,
}

/// Why policies are not enforced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PoliciesProblem {
    /// They are not known yet.
    Unknown,
    /// They need more of the engine than it has.
    TooLarge(String),
    /// The engine cannot restrict connections as it runs now.
    Unsupported(String),
    /// They are being set.
    Pending,
}

/// What an engine can do with NICs that it drives itself by DPDK.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DpdkSupport {
    /// Why it can have none as it runs now, and what to do.
    pub unusable: Option<String>,
    /// Whether it takes, when it starts, every device of the node that a program can have.
    pub takes_all: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedBridge {
    /// What owns the bridge; `None` if usnet does not own it.
    pub owner: Option<BridgeOwner>,
    /// Whether its datapath is one that usnet supports (Open vSwitch: `datapath_type=netdev`; VPP:
    /// it forwards and floods, and does not answer ARP).
    pub has_supported_datapath: bool,
    /// Why a network cannot adopt it; `None` if it can.
    pub adoption_blocker: Option<String>,
    pub settings: BridgeSettings,
    /// Whether the engine runs it, or why not.
    pub state: ElementState,
    /// The ports, without the bridge's own; also those to which its gateway routes.
    pub ports: BTreeMap<PortName, ObservedPort>,
}

impl ObservedBridge {
    /// The network that owns the bridge.
    pub fn network(&self) -> Option<&NetworkName> {
        self.owner.as_ref()?.network()
    }

    /// The uplink that owns the bridge.
    pub fn uplink(&self) -> Option<&UplinkName> {
        self.owner.as_ref()?.uplink()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedPort {
    /// What owns the port; `None` if usnet does not own it.
    pub owner: Option<PortOwner>,
    /// What the port is; `None` if it is not as usnet creates any.
    pub backend: Option<PortBackend>,
    pub settings: ObservedSettings,
    /// Whether the pod's program is there.
    pub peer: Peer,
    /// Whether the engine runs it, or why not.
    pub state: ElementState,
    /// The NICs of a bond, as the engine reports them; empty for other ports.
    pub members: Vec<ObservedMember>,
}

/// A NIC of a bond.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedMember {
    /// The device, or the address of the PCI device.
    pub endpoint: String,
    pub state: ElementState,
    /// Whether it has a link, as far as the engine says.
    pub has_link: bool,
    /// Whether the switch at the other end agrees by LACP; none without LACP.
    pub has_partner: Option<bool>,
    /// Whether it is the one that carries frames where only one does.
    pub is_active: bool,
}

/// Whether the other end of a port's socket is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Connected,
    /// The peer is not there, or the engine does not report it.
    Absent,
}

/// Whether the engine runs what was configured. That a database accepted a request does not imply
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ElementState {
    Running,
    /// Not yet, and no error is known.
    Pending,
    /// The program at the other end is connected, and the engine has no memory for its packets.
    NoMemory,
    /// The engine failed, with its error text.
    Failed(String),
}

impl ElementState {
    /// Why the engine does not run it; none while it runs, or while no error is known.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::Running | Self::Pending => None,
            Self::NoMemory => Some("its program is connected, and the engine has no memory for its packets"),
            Self::Failed(error) => Some(error),
        }
    }
}

impl From<&DesiredPort> for ObservedPort {
    /// What an engine reports of a port that needs no update and has no peer yet.
    fn from(port: &DesiredPort) -> Self {
        Self {
            owner: Some(port.owner.clone()),
            backend: Some(port.backend.clone()),
            settings: (&port.settings).into(),
            peer: Peer::Absent,
            state: ElementState::Running,
            members: Vec::new(),
        }
    }
}
