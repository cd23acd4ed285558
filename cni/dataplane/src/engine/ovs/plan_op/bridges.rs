//! Bridges of networks and of uplinks.

use super::decision::{Action, Decision, foreign};
use crate::engine::error::OpError;
use crate::engine::ovs::observe::observe_bridge;
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::engine::ovs::tags;
use crate::model::bridge::{BridgeOwner, DesiredBridge};
use crate::model::port::PortBridge;
use crate::plan::{adoption_blocker, bridge_matches};
use usnet_crds::Ownership;
use usnet_ovsdb::Port;

pub(super) fn remove<'a>(snapshot: &OvsSnapshot, name: &'a str, owner: &'a BridgeOwner) -> Decision<'a> {
    match snapshot.bridges.get(name) {
        None => Decision::NoOp,
        Some(row) if tags::bridge(&row.external_ids).as_ref() == Some(owner) => {
            let goes_with_it = |port: &&Port| port.name == name || tags::is_of_capture(&port.external_ids);
            let own_ports = snapshot.ports_of(row).filter(goes_with_it).map(|port| port.uuid).collect();
            Decision::Apply(Action::DeleteBridge { name, row: row.uuid, own_ports, owner })
        }
        Some(_) => foreign(format!("bridge {name}")),
    }
}

/// Creates a bridge, or updates it.
pub(super) fn create<'a>(snapshot: &OvsSnapshot, bridge: &'a DesiredBridge) -> Decision<'a> {
    let name = bridge.name().as_str();
    let Some(row) = snapshot.bridges.get(name) else {
        let taken = snapshot.port(name).is_some() || snapshot.interface(name).is_some();
        return if taken { foreign(format!("port {name}")) } else { Decision::Apply(Action::InsertBridge { bridge }) };
    };
    let observed = observe_bridge(snapshot, row);
    if observed.owner != Some(bridge.owner()) {
        return foreign(format!("bridge {name}"));
    }
    if bridge_matches(&observed, bridge) {
        return Decision::NoOp;
    }
    let own_port = snapshot.ports_of(row).any(|port| port.name == name);
    Decision::Apply(Action::UpdateBridge { bridge, own_port })
}

/// Why no port can be created on a bridge that a network adopts.
pub(super) fn adoption_error(snapshot: &OvsSnapshot, bridge: &PortBridge) -> Option<OpError> {
    let network = bridge.owner.network().filter(|_| bridge.ownership == Ownership::Adopted)?;
    let name = bridge.name.as_str();
    let observed = snapshot.bridges.get(name).map(|row| observe_bridge(snapshot, row));
    let found = adoption_blocker(observed.as_ref(), network)?;
    Some(OpError::BridgeUnusable { bridge: name.to_owned(), found })
}
