//! Tags for ports and bridges that the legacy userspace CNI created. Nothing else of them changes,
//! so that ovs-vswitchd keeps the port and no packet is lost.

use super::decision::{Action, Decision, TaggedRow, foreign};
use crate::engine::error::OpError;
use crate::engine::ovs::legacy_tags::foreign_key;
use crate::engine::ovs::observe::observe_port;
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::engine::ovs::tags;
use crate::model::bridge::DesiredBridge;
use crate::model::port::DesiredPort;

/// A port of the desired name that is on the desired bridge, has the desired socket and no tag of
/// any other owner.
pub(super) fn port<'a>(snapshot: &OvsSnapshot, port: &'a DesiredPort) -> Decision<'a> {
    let what = || format!("port {}", port.name);
    let missing = || Decision::Reject(OpError::PortMissing { port: port.name.clone() });
    let bridge = port.bridge_name().and_then(|name| snapshot.bridges.get(name.as_str()));
    let (Some(bridge), Some(row)) = (bridge, snapshot.port(port.name.as_str())) else { return missing() };
    let Some(interface) = snapshot.interface_of(row).filter(|_| bridge.ports.contains(&row.uuid)) else {
        return missing();
    };
    if tags::is_owned_by(&row.external_ids, &port.owner) {
        return Decision::NoOp;
    }
    let is_marked = [&row.external_ids, &interface.external_ids].into_iter().any(|ids| foreign_key(ids).is_some());
    if is_marked || observe_port(snapshot, row).backend.as_ref() != Some(&port.backend) {
        return foreign(what());
    }
    Decision::Apply(Action::TagPort {
        port,
        found: TaggedRow { row: row.uuid, external_ids: row.external_ids.clone() },
        interface: (interface.uuid, interface.interface_type.clone(), interface.options.clone()),
    })
}

/// A bridge without a tag of any other owner. Which ports it has is what the planner decided on.
pub(super) fn bridge<'a>(snapshot: &OvsSnapshot, bridge: &'a DesiredBridge) -> Decision<'a> {
    let name = bridge.name().as_str();
    match snapshot.bridges.get(name) {
        None => Decision::Reject(OpError::BridgeMissing { bridge: name.to_owned() }),
        Some(row) if tags::bridge(&row.external_ids).as_ref() == Some(&bridge.owner()) => Decision::NoOp,
        Some(row) if !row.external_ids.is_empty() => foreign(format!("bridge {name}")),
        Some(row) => Decision::Apply(Action::TagBridge {
            bridge,
            found: TaggedRow { row: row.uuid, external_ids: row.external_ids.clone() },
            ports: row.ports.clone(),
        }),
    }
}
