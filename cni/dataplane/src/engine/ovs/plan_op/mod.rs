//! Plans one operation, given a snapshot of the rows. Pure.

mod decision;
mod uplinks;

pub(super) use decision::{Action, Decision, NewPort};

use self::decision::{adoption_error, delete_bridge, foreign};
use super::observe::{observe_bridge, observe_port};
use super::ports;
use super::qos::{self, Shaper};
use super::snapshot::OvsSnapshot;
use super::tags::{self, BridgeOwner};
use crate::engine::error::OpError;
use crate::model::observed::ObservedPort;
use crate::model::owner::PortOwner;
use crate::model::port::{NetworkPort, PortName, PortSettings};
use crate::plan::{Op, bridge_matches_spec, network_port_matches, port_matches_spec};
use usnet_crds::{Bridge, EngineKind, NetworkName, Ownership};

/// Plans an operation on the assumption that there is no conflict, which saves reading; `None` if
/// the rows are needed.
pub(super) fn plan_optimistic(operation: &Op) -> Option<Action<'_>> {
    match operation {
        Op::CreateBridge { network, bridge } => Some(Action::InsertBridge { bridge, network }),
        // A bridge without an ownership tag cannot be guarded.
        Op::CreatePort { port, .. } if port.ownership == Ownership::Adopted => None,
        Op::CreatePort { network, attachment, port } => {
            NewPort::plan(network, attachment, port).ok().map(Action::InsertPort)
        }
        Op::JoinDevice { port } => (port.ownership == Ownership::Managed).then_some(Action::JoinDevice(port)),
        // What limits a port differs with its kind.
        Op::UpdatePort { settings, .. } if settings.rate_limit.ingress_kbps.is_some() => None,
        Op::UpdatePort { port, owner, settings } => {
            Some(Action::UpdatePort { port, settings, shaper: Shaper::Policer, owner: owner.clone() })
        }
        Op::RemovePort { .. } | Op::RemoveBridge { .. } | Op::UpdateBridge { .. } | Op::Routing(_) | Op::Uplink(_) => {
            None
        }
    }
}

/// Plans an operation on a snapshot of the rows. They may change before the transaction: the
/// actions have guards against that.
pub(super) fn plan_op<'a>(operation: &'a Op, snapshot: &OvsSnapshot) -> Decision<'a> {
    match operation {
        Op::RemovePort { bridge: Some(bridge), port, owner, .. } => remove_port(snapshot, bridge, port, owner),
        // A port that is on no bridge is not in the database either.
        Op::RemovePort { bridge: None, owner, .. } => delete_qos(snapshot, owner),
        Op::RemoveBridge { bridge, network } => remove_bridge(snapshot, bridge, network),
        Op::CreateBridge { network, bridge } => create_bridge(snapshot, bridge, network),
        Op::UpdateBridge { network, bridge } if snapshot.bridges.contains_key(bridge.name.as_str()) => {
            create_bridge(snapshot, bridge, network)
        }
        Op::UpdateBridge { bridge, .. } => Decision::Reject(OpError::BridgeMissing { bridge: bridge.name.to_string() }),
        Op::CreatePort { network, attachment, port } => match NewPort::plan(network, attachment, port) {
            Ok(new) => create_port(snapshot, new),
            Err(reason) => Decision::Reject(OpError::Refused { what: operation.subject(), reason: reason.to_owned() }),
        },
        Op::JoinDevice { port } => join_device(snapshot, port),
        Op::Uplink(operation) => uplinks::plan(snapshot, operation),
        // The API rejects gateways with this engine.
        Op::Routing(operation) => {
            let reason = format!("{} has no gateways", EngineKind::OpenVswitch);
            Decision::Reject(OpError::Refused { what: operation.subject(), reason })
        }
        Op::UpdatePort { port, owner, settings } => match snapshot.port(port.as_str()) {
            Some(row) if tags::is_owned_by(&row.external_ids, owner) => {
                configure_port(port, &observe_port(snapshot, row), settings, owner.clone())
            }
            _ => Decision::Reject(OpError::PortMissing { port: port.clone() }),
        },
    }
}

/// For a port that does not exist any more.
fn delete_qos<'a>(snapshot: &OvsSnapshot, owner: &'a PortOwner) -> Decision<'a> {
    if qos::has_qos(snapshot, owner) { Decision::Apply(Action::DeleteQos { owner }) } else { Decision::NoOp }
}

fn remove_port<'a>(snapshot: &OvsSnapshot, bridge: &'a str, port: &'a PortName, owner: &'a PortOwner) -> Decision<'a> {
    let on_bridge = snapshot.bridges.get(bridge).into_iter().flat_map(|observed| snapshot.ports_of(observed));
    match on_bridge.into_iter().find(|row| row.name == port.as_str()) {
        None => delete_qos(snapshot, owner),
        Some(row) if tags::is_owned_by(&row.external_ids, owner) => {
            Decision::Apply(Action::DetachPort { bridge, port, row: row.uuid, owner })
        }
        Some(_) => foreign(format!("port {port}")),
    }
}

fn remove_bridge<'a>(snapshot: &OvsSnapshot, name: &'a str, network: &'a NetworkName) -> Decision<'a> {
    match snapshot.bridges.get(name) {
        None => Decision::NoOp,
        Some(bridge) if tags::network(&bridge.external_ids).as_ref() == Some(network) => {
            delete_bridge(snapshot, (name, bridge), BridgeOwner::Network(network))
        }
        Some(_) => foreign(format!("bridge {name}")),
    }
}

fn create_bridge<'a>(snapshot: &OvsSnapshot, bridge: &'a Bridge, network: &'a NetworkName) -> Decision<'a> {
    let name = bridge.name.as_str();
    let Some(row) = snapshot.bridges.get(name) else {
        let taken = snapshot.port(name).is_some() || snapshot.interface(name).is_some();
        return if taken {
            foreign(format!("port {name}"))
        } else {
            Decision::Apply(Action::InsertBridge { bridge, network })
        };
    };
    let observed = observe_bridge(snapshot, row);
    if observed.owner.as_ref() != Some(network) {
        return foreign(format!("bridge {name}"));
    }
    if bridge_matches_spec(&observed, bridge) {
        return Decision::NoOp;
    }
    let own_port = snapshot.ports_of(row).any(|port| port.name == name);
    Decision::Apply(Action::UpdateBridge { bridge, network, own_port })
}

fn create_port<'a>(snapshot: &OvsSnapshot, new: NewPort<'a>) -> Decision<'a> {
    let port = new.port;
    if let Some(error) = adoption_error(snapshot, (&port.bridge, port.ownership), new.network) {
        return Decision::Reject(error);
    }
    let (name, owner) = (port.name.as_str(), new.owner());
    let Some(row) = snapshot.port(name) else {
        return match (snapshot.interface(name), new.interface.socket_in_use(snapshot.interfaces.values())) {
            (Some(_), _) => foreign(format!("interface {name}")),
            (None, Some(socket)) => Decision::Reject(OpError::SocketInUse { socket: socket.as_path().to_owned() }),
            (None, None) => Decision::Apply(Action::InsertPort(new)),
        };
    };
    let observed = observe_port(snapshot, row);
    let is_on_bridge =
        snapshot.bridges.get(port.bridge.as_str()).is_some_and(|bridge| bridge.ports.contains(&row.uuid));
    let found = match &observed.owner {
        None => return foreign(format!("port {name}")),
        Some(found) if *found != owner => format!("it is owned by {}", found.owner),
        Some(_) if !is_on_bridge => "it is on another bridge".to_owned(),
        Some(_) if observed.backend.as_ref() != Some(&port.backend) => "it has another socket or device".to_owned(),
        Some(_) => return configure_port(&port.name, &observed, &port.settings, owner),
    };
    Decision::Reject(OpError::PortDiffers { port: port.name.clone(), found })
}

/// A port of this device that differs is removed by an operation of its own.
fn join_device<'a>(snapshot: &OvsSnapshot, port: &'a NetworkPort) -> Decision<'a> {
    if let Some(error) = adoption_error(snapshot, (&port.bridge, port.ownership), &port.device.network) {
        return Decision::Reject(error);
    }
    let name = port.name.as_str();
    let Some(row) = snapshot.port(name) else {
        return match snapshot.interface(name) {
            Some(_) => foreign(format!("interface {name}")),
            None => Decision::Apply(Action::JoinDevice(port)),
        };
    };
    let is_on_bridge =
        snapshot.bridges.get(port.bridge.as_str()).is_some_and(|bridge| bridge.ports.contains(&row.uuid));
    let observed = observe_port(snapshot, row);
    match &observed.owner {
        None => foreign(format!("port {name}")),
        Some(_) if is_on_bridge && network_port_matches(&observed, port) => Decision::NoOp,
        Some(found) => {
            let found = format!("it is of {} and has other settings or is on another bridge", found.owner);
            Decision::Reject(OpError::PortDiffers { port: port.name.clone(), found })
        }
    }
}

/// An owned port that is in its place: only its settings may differ.
fn configure_port<'a>(
    port: &'a PortName,
    observed: &ObservedPort,
    settings: &'a PortSettings,
    owner: PortOwner,
) -> Decision<'a> {
    if port_matches_spec(observed, settings) {
        Decision::NoOp
    } else {
        let shaper = observed.backend.as_ref().map_or(Shaper::Policer, ports::shaper);
        Decision::Apply(Action::UpdatePort { port, settings, shaper, owner })
    }
}
