//! What an engine shows, read at one moment.

use crate::port::{Connection, PortMark, PortName};
use std::collections::BTreeMap;
use usnet_crds::NetworkName;

/// Every bridge of an engine. Names are as the engine has them, because not every bridge is ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// By name.
    pub bridges: BTreeMap<String, ObservedBridge>,
}

/// One bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedBridge {
    /// The network that it belongs to; none means that it is not ours.
    pub mark: Option<NetworkName>,
    /// Whether it is of the kind that we make (Open vSwitch: `datapath_type=netdev`).
    pub userspace: bool,
    /// The MTU that was asked for, in bytes; none means the engine's default.
    pub mtu: Option<i64>,
    /// Whether the engine runs it, or why not.
    pub state: ElementState,
    /// Its ports, without the bridge's own.
    pub ports: BTreeMap<PortName, ObservedPort>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedPort {
    /// The attachment that it belongs to; none means that it is not ours.
    pub mark: Option<PortMark>,
    /// How it meets its pod; none means that it is of a kind that we do not make.
    pub connection: Option<Connection>,
    /// The MTU that was asked for, in bytes.
    pub mtu: Option<i64>,
    /// How its frames are tagged.
    pub tagging: Tagging,
    /// Whether the engine runs it, or why not.
    pub state: ElementState,
}

/// How a port tags, as far as we use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tagging {
    /// No VLAN was set.
    Untagged,
    /// Access to one VLAN.
    Access(i64),
    /// Anything else: somebody changed it.
    Other,
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
