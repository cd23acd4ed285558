//! Ports, whatever owns them.

use super::bridges::adoption_error;
use super::decision::{Action, Decision, NewPort, foreign};
use crate::engine::error::OpError;
use crate::engine::ovs::observe::observe_port;
use crate::engine::ovs::ports;
use crate::engine::ovs::qos::{self, Shaper};
use crate::engine::ovs::snapshot::OvsSnapshot;
use crate::engine::ovs::tags;
use crate::model::observed::ObservedPort;
use crate::model::owner::PortOwner;
use crate::model::port::{DesiredPort, PortName};
use crate::plan::is_port;
use usnet_ovsdb::Port;

pub(super) fn remove<'a>(
    snapshot: &OvsSnapshot,
    bridge: &'a str,
    port: &'a PortName,
    owner: &'a PortOwner,
) -> Decision<'a> {
    let on_bridge = snapshot.bridges.get(bridge).into_iter().flat_map(|observed| snapshot.ports_of(observed));
    match on_bridge.into_iter().find(|row| row.name == port.as_str()) {
        None => remove_qos(snapshot, owner),
        Some(row) if tags::is_owned_by(&row.external_ids, owner) => {
            Decision::Apply(Action::DetachPort { bridge, port, row: row.uuid, owner })
        }
        Some(_) => foreign(format!("port {port}")),
    }
}

/// Removes what is left of a port that does not exist any more.
pub(super) fn remove_qos<'a>(snapshot: &OvsSnapshot, owner: &'a PortOwner) -> Decision<'a> {
    if qos::has_qos(snapshot, owner) { Decision::Apply(Action::DeleteQos { owner }) } else { Decision::NoOp }
}

/// Creates a port, and the other one of a pair. What is there and differs in more than its settings
/// is removed by an operation of its own.
pub(super) fn create<'a>(snapshot: &OvsSnapshot, port: &'a DesiredPort) -> Decision<'a> {
    let new = match NewPort::plan(port) {
        Ok(new) => new,
        Err(reason) => {
            return Decision::Reject(OpError::Refused {
                what: format!("port {}", port.name),
                reason: reason.to_owned(),
            });
        }
    };
    if let Some(error) = port.ends().filter_map(|end| adoption_error(snapshot, end.bridge.as_ref()?)).next() {
        return Decision::Reject(error);
    }
    let rows: Vec<_> = port.ends().filter_map(|end| Some((end, snapshot.port(end.name.as_str())?))).collect();
    if rows.is_empty() {
        return insert(snapshot, new);
    }
    let unfit = rows.iter().find_map(|(end, row)| unfit(snapshot, end, row));
    match (unfit, rows.len() == new.len()) {
        (Some(Unfit::Foreign), _) => foreign(format!("port {}", port.name)),
        (Some(Unfit::Differs(found)), _) => Decision::Reject(OpError::PortDiffers { port: port.name.clone(), found }),
        (None, false) => {
            let found = "the other port of the pair is missing".to_owned();
            Decision::Reject(OpError::PortDiffers { port: port.name.clone(), found })
        }
        // It is in its place: only its settings may differ.
        (None, true) => rows.first().map_or(Decision::NoOp, |(_, row)| change(snapshot, row, port)),
    }
}

fn insert<'a>(snapshot: &OvsSnapshot, new: Vec<NewPort<'a>>) -> Decision<'a> {
    for (name, interface, _) in new.iter().flat_map(|new| &new.interfaces) {
        if snapshot.interface(name.as_str()).is_some() {
            return foreign(format!("interface {name}"));
        }
        if let Some(socket) = interface.socket_in_use(snapshot.interfaces.values()) {
            return Decision::Reject(OpError::SocketInUse { socket: socket.as_path().to_owned() });
        }
    }
    Decision::Apply(Action::InsertPort(new))
}

/// Why what has the name of a port cannot be used for it.
enum Unfit {
    Foreign,
    Differs(String),
}

/// Open vSwitch accepts such a limit, and the kernel sends past it.
const WITHOUT_LIMIT: &str = "what a pod receives by AF_XDP cannot be limited, and the interface was attached by it: \
     delete the pod, whose successor has the datapath Kernel";

fn unfit(snapshot: &OvsSnapshot, port: &DesiredPort, row: &Port) -> Option<Unfit> {
    let observed = observe_port(snapshot, row);
    let is_on_bridge = || {
        let bridge = port.bridge_name().and_then(|name| snapshot.bridges.get(name.as_str()));
        bridge.is_some_and(|bridge| bridge.ports.contains(&row.uuid))
    };
    Some(match &observed.owner {
        None => Unfit::Foreign,
        Some(found) if !port.owner.covers(found) => Unfit::Differs(format!("it is owned by {}", found.owner)),
        Some(_) if !is_on_bridge() => Unfit::Differs("it is on another bridge".to_owned()),
        Some(_) if observed.backend.as_ref() != Some(&port.backend) => {
            Unfit::Differs("it has another socket or device".to_owned())
        }
        Some(_) if !is_port(&observed, port) => Unfit::Differs("it has other settings".to_owned()),
        Some(_) => return None,
    })
}

pub(super) fn update<'a>(snapshot: &OvsSnapshot, port: &'a DesiredPort) -> Decision<'a> {
    match snapshot.port(port.name.as_str()) {
        Some(row) if tags::is_owned_by(&row.external_ids, &port.owner) => change(snapshot, row, port),
        _ => Decision::Reject(OpError::PortMissing { port: port.name.clone() }),
    }
}

fn change<'a>(snapshot: &OvsSnapshot, row: &Port, port: &'a DesiredPort) -> Decision<'a> {
    let ObservedPort { settings: observed, .. } = observe_port(snapshot, row);
    if observed.match_desired(&port.settings) {
        return Decision::NoOp;
    }
    let interface = snapshot.interface_of(row);
    let is_limited = port.settings.rate_limit.is_some_and(|limit| limit.ingress_kbps.is_some());
    if is_limited && interface.is_some_and(ports::is_af_xdp) {
        return Decision::Reject(OpError::Refused {
            what: format!("port {}", port.name),
            reason: WITHOUT_LIMIT.to_owned(),
        });
    }
    let shaper = interface.and_then(ports::shaper).unwrap_or(Shaper::Policer);
    Decision::Apply(Action::UpdatePort { port, shaper })
}
