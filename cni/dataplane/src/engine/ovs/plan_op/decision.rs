//! The outcome of planning an operation: which change of the database it needs. Pure.

use crate::engine::error::OpError;
use crate::engine::ovs::bonds::{self, PortInterface};
use crate::engine::ovs::qos::Shaper;
use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::owner::PortOwner;
use crate::model::port::{DesiredPort, PortName};
use crate::model::underlay::UplinkAddress;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::{BridgeName, UplinkName};
use usnet_ovsdb::Uuid;

/// Outcome of planning one operation.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::ovs) enum Decision<'a> {
    /// The database is as desired already.
    NoOp,
    /// The database has to be changed.
    Apply(Action<'a>),
    Reject(OpError),
}

/// A change of the database.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::ovs) enum Action<'a> {
    DetachPort {
        bridge: &'a str,
        port: &'a PortName,
        row: Uuid,
        owner: &'a PortOwner,
    },
    /// Deletes the QoS of a port that was deleted by others.
    DeleteQos {
        owner: &'a PortOwner,
    },
    DeleteBridge {
        name: &'a str,
        row: Uuid,
        own_ports: BTreeSet<Uuid>,
        owner: &'a BridgeOwner,
    },
    InsertBridge {
        bridge: &'a DesiredBridge,
    },
    /// `own_port`: whether the bridge has its local port, which others may have deleted.
    UpdateBridge {
        bridge: &'a DesiredBridge,
        own_port: bool,
    },
    InsertPort(Vec<NewPort<'a>>),
    /// Adds a tag to a port of the legacy plugin that is as it was read.
    TagPort {
        port: &'a DesiredPort,
        found: TaggedRow,
        /// The row, the type and the options of its interface.
        interface: (Uuid, String, StringMap),
    },
    /// Adds a tag to a bridge of the legacy plugin that has the ports that were read.
    TagBridge {
        bridge: &'a DesiredBridge,
        found: TaggedRow,
        ports: BTreeSet<Uuid>,
    },
    UpdatePort {
        port: &'a DesiredPort,
        shaper: Shaper,
    },
    /// Sets or removes the address of a node on the bridge of an uplink.
    SetAddress {
        uplink: &'a UplinkName,
        bridge: &'a BridgeName,
        address: Option<&'a UplinkAddress>,
    },
}

/// A column of the database with texts by keys.
type StringMap = BTreeMap<String, String>;

/// A row that is to get a tag, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::ovs) struct TaggedRow {
    pub(in crate::engine::ovs) row: Uuid,
    pub(in crate::engine::ovs) external_ids: StringMap,
}

/// A port to create. Both ports of a pair are created at once: the switch would report one alone as
/// an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine::ovs) struct NewPort<'a> {
    pub(in crate::engine::ovs) port: &'a DesiredPort,
    /// One, or those of a bond.
    pub(in crate::engine::ovs) interfaces: Vec<PortInterface<'a>>,
}

impl<'a> NewPort<'a> {
    /// The ports to create, or why Open vSwitch does not support them.
    pub(super) fn plan(port: &'a DesiredPort) -> Result<Vec<Self>, &'static str> {
        port.ends().map(|port| Ok(Self { port, interfaces: bonds::interfaces(port)? })).collect()
    }
}

pub(super) fn foreign(what: String) -> Decision<'static> {
    Decision::Reject(OpError::Foreign { what })
}
