//! The outcome of planning an operation: which change of the database it needs. Pure.

use crate::engine::error::OpError;
use crate::engine::ovs::observe::observe_bridge;
use crate::engine::ovs::ports::NewInterface;
use crate::engine::ovs::qos::Shaper;
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::engine::ovs::tags::{self, BridgeOwner};
use crate::model::attachment::AttachmentId;
use crate::model::owner::PortOwner;
use crate::model::port::{AttachedPort, NetworkPort, PortName, PortSettings};
use crate::plan::{UplinkOp, adoption_blocker};
use std::collections::BTreeSet;
use usnet_crds::{Bridge, BridgeName, NetworkName, Ownership};
use usnet_ovsdb::{Bridge as BridgeRow, Port, Uuid};

/// Outcome of planning one operation.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine::ovs) enum Decision<'a> {
    /// The database is as desired already.
    NoOp,
    /// The database has to be changed.
    Apply(Action<'a>),
    /// It is refused.
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
        owner: BridgeOwner<'a>,
    },
    InsertBridge {
        bridge: &'a Bridge,
        network: &'a NetworkName,
    },
    /// `own_port`: whether the bridge has its local port, which others may have deleted.
    UpdateBridge {
        bridge: &'a Bridge,
        network: &'a NetworkName,
        own_port: bool,
    },
    InsertPort(NewPort<'a>),
    JoinDevice(&'a NetworkPort),
    Uplink(&'a UplinkOp),
    UpdatePort {
        port: &'a PortName,
        settings: &'a PortSettings,
        shaper: Shaper,
        owner: PortOwner,
    },
}

/// A port to create.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine::ovs) struct NewPort<'a> {
    pub(in crate::engine::ovs) network: &'a NetworkName,
    pub(in crate::engine::ovs) attachment: &'a AttachmentId,
    pub(in crate::engine::ovs) port: &'a AttachedPort,
    pub(in crate::engine::ovs) interface: NewInterface<'a>,
}

impl<'a> NewPort<'a> {
    /// The port to create, or why Open vSwitch does not support it.
    pub(super) fn plan(
        network: &'a NetworkName,
        attachment: &'a AttachmentId,
        port: &'a AttachedPort,
    ) -> Result<Self, &'static str> {
        Ok(Self { network, attachment, port, interface: NewInterface::plan(port)? })
    }

    pub(in crate::engine::ovs) fn owner(&self) -> PortOwner {
        PortOwner::new(self.network, self.attachment)
    }
}

pub(in crate::engine::ovs) fn foreign(what: String) -> Decision<'static> {
    Decision::Reject(OpError::Foreign { what })
}

/// For a bridge that has this owner.
pub(in crate::engine::ovs) fn delete_bridge<'a>(
    snapshot: &OvsSnapshot,
    (name, bridge): (&'a str, &BridgeRow),
    owner: BridgeOwner<'a>,
) -> Decision<'a> {
    let goes_with_it = |port: &&Port| port.name == name || tags::is_of_capture(&port.external_ids);
    let own_ports = snapshot.ports_of(bridge).filter(goes_with_it).map(|port| port.uuid).collect();
    Decision::Apply(Action::DeleteBridge { name, row: bridge.uuid, own_ports, owner })
}

/// Why a network cannot adopt a bridge.
pub(in crate::engine::ovs) fn adoption_error(
    snapshot: &OvsSnapshot,
    (bridge, ownership): (&BridgeName, Ownership),
    network: &NetworkName,
) -> Option<OpError> {
    if ownership == Ownership::Managed {
        return None;
    }
    let name = bridge.as_str();
    let observed = snapshot.bridges.get(name).map(|row| observe_bridge(snapshot, row));
    let found = adoption_blocker(observed.as_ref(), network)?;
    Some(OpError::BridgeUnusable { bridge: name.to_owned(), found })
}
