//! From an operation and the rows that are there to what has to be done in the database. Pure.

use super::limits::{self, Shaper};
use super::marks;
use super::observe::{VHOST_SERVER_PATH, observe_bridge, observe_port};
use super::rows::Rows;
use crate::attachment::AttachmentId;
use crate::engine::OpError;
use crate::observed::ObservedPort;
use crate::plan::{Op, bridge_is_as_wanted, port_is_as_wanted, unusable};
use crate::port::{AttachedPort, Connection, PortMark, PortName, PortSettings, SocketPath};
use std::collections::BTreeSet;
use usnet_crds::{Bridge, NetworkName, Ownership, SocketRole};
use usnet_ovsdb::Uuid;

/// What an operation comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision<'a> {
    /// It is so already.
    Nothing,
    /// This has to be done.
    Act(Action<'a>),
    /// It must not be done.
    Refuse(OpError),
}

/// A change of the database.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action<'a> {
    DetachPort {
        bridge: &'a str,
        port: &'a PortName,
        row: Uuid,
        mark: &'a PortMark,
    },
    /// Of a port that somebody else took away.
    ForgetLimits {
        mark: &'a PortMark,
    },
    DeleteBridge {
        name: &'a str,
        row: Uuid,
        own_ports: BTreeSet<Uuid>,
        network: &'a NetworkName,
    },
    InsertBridge {
        bridge: &'a Bridge,
        network: &'a NetworkName,
    },
    /// `own_port`: whether the bridge has its own port; somebody may have removed it.
    UpdateBridge {
        bridge: &'a Bridge,
        network: &'a NetworkName,
        own_port: bool,
    },
    InsertPort(NewPort<'a>),
    UpdatePort {
        port: &'a PortName,
        settings: &'a PortSettings,
        shaper: Shaper,
        mark: PortMark,
    },
}

/// A port to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NewPort<'a> {
    pub(super) network: &'a NetworkName,
    pub(super) attachment: &'a AttachmentId,
    pub(super) port: &'a AttachedPort,
    pub(super) end: PodEnd<'a>,
}

/// What of the pod the switch meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodEnd<'a> {
    /// A socket that it connects to.
    Socket(&'a SocketPath),
    /// The device of the port's name.
    Device,
}

impl PodEnd<'_> {
    pub(super) const fn shaper(&self) -> Shaper {
        match self {
            Self::Socket(_) => Shaper::Policer,
            Self::Device => Shaper::Queue,
        }
    }
}

impl<'a> NewPort<'a> {
    /// The port that an operation asks for; none when Open vSwitch has no such ports.
    fn of(operation: &'a Op) -> Option<Self> {
        match operation {
            Op::CreatePort { network, attachment, port } => match &port.connection {
                Connection::VhostUser { socket, engine_role: SocketRole::Client } => {
                    Some(Self { network, attachment, port, end: PodEnd::Socket(socket) })
                }
                Connection::Veth { device } => (device.as_str() == port.name.as_str()).then_some(Self {
                    network,
                    attachment,
                    port,
                    end: PodEnd::Device,
                }),
                Connection::VhostUser { engine_role: SocketRole::Server, .. } | Connection::Memif { .. } => None,
            },
            _ => None,
        }
    }

    pub(super) fn mark(&self) -> PortMark {
        PortMark::new(self.network, self.attachment)
    }
}

/// What to do when it is expected that nothing is in the way, which saves reading; `None` when the rows are needed.
pub(super) fn decide_blindly(operation: &Op) -> Option<Action<'_>> {
    match operation {
        Op::CreateBridge { network, bridge } => Some(Action::InsertBridge { bridge, network }),
        // Nothing guards a bridge that carries no mark of ours.
        Op::CreatePort { port, .. } if port.ownership == Ownership::Adopted => None,
        Op::CreatePort { .. } => NewPort::of(operation).map(Action::InsertPort),
        // What limits a port differs with its kind.
        Op::UpdatePort { settings, .. } if settings.rate_limit.ingress_kbps.is_some() => None,
        Op::UpdatePort { port, mark, settings } => {
            Some(Action::UpdatePort { port, settings, shaper: Shaper::Policer, mark: mark.clone() })
        }
        Op::RemovePort { .. } | Op::RemoveBridge { .. } | Op::UpdateBridge { .. } => None,
    }
}

/// What to do now that the rows are known. They may have changed by the time that it is done: the actions have guards for that.
pub(super) fn decide<'a>(operation: &'a Op, rows: &Rows) -> Decision<'a> {
    match operation {
        Op::RemovePort { bridge: Some(bridge), port, mark, .. } => remove_port(rows, bridge, port, mark),
        // A port that is on no bridge is not in the database either.
        Op::RemovePort { bridge: None, mark, .. } => forget_limits(rows, mark),
        Op::RemoveBridge { bridge, network } => remove_bridge(rows, bridge, network),
        Op::CreateBridge { network, bridge } => make_bridge(rows, bridge, network),
        Op::UpdateBridge { network, bridge } if rows.bridges.contains_key(bridge.name.as_str()) => {
            make_bridge(rows, bridge, network)
        }
        Op::UpdateBridge { bridge, .. } => Decision::Refuse(OpError::BridgeMissing { bridge: bridge.name.to_string() }),
        Op::CreatePort { port, .. } => match NewPort::of(operation) {
            Some(new) => create_port(rows, new),
            None => Decision::Refuse(no_such_ports(operation, &port.connection)),
        },
        Op::UpdatePort { port, mark, settings } => match rows.port(port.as_str()) {
            Some(row) if marks::is_port_of(&row.external_ids, mark) => {
                settle_port(port, &observe_port(rows, row), settings, mark.clone())
            }
            _ => Decision::Refuse(OpError::PortMissing { port: port.clone() }),
        },
    }
}

fn foreign(what: String) -> Decision<'static> {
    Decision::Refuse(OpError::Foreign { what })
}

/// For a port that is gone.
fn forget_limits<'a>(rows: &Rows, mark: &'a PortMark) -> Decision<'a> {
    if limits::are_left(rows, mark) { Decision::Act(Action::ForgetLimits { mark }) } else { Decision::Nothing }
}

fn remove_port<'a>(rows: &Rows, bridge: &'a str, port: &'a PortName, mark: &'a PortMark) -> Decision<'a> {
    let on_bridge = rows.bridges.get(bridge).into_iter().flat_map(|shown| rows.ports_of(shown));
    match on_bridge.into_iter().find(|row| row.name == port.as_str()) {
        None => forget_limits(rows, mark),
        Some(row) if marks::is_port_of(&row.external_ids, mark) => {
            Decision::Act(Action::DetachPort { bridge, port, row: row.uuid, mark })
        }
        Some(_) => foreign(format!("port {port}")),
    }
}

fn remove_bridge<'a>(rows: &Rows, name: &'a str, network: &'a NetworkName) -> Decision<'a> {
    match rows.bridges.get(name) {
        None => Decision::Nothing,
        Some(bridge) if marks::network(&bridge.external_ids).as_ref() == Some(network) => {
            let own_ports = rows.ports_of(bridge).filter(|port| port.name == name).map(|port| port.uuid).collect();
            Decision::Act(Action::DeleteBridge { name, row: bridge.uuid, own_ports, network })
        }
        Some(_) => foreign(format!("bridge {name}")),
    }
}

fn make_bridge<'a>(rows: &Rows, bridge: &'a Bridge, network: &'a NetworkName) -> Decision<'a> {
    let name = bridge.name.as_str();
    let Some(row) = rows.bridges.get(name) else {
        let taken = rows.port(name).is_some() || rows.interface(name).is_some();
        return if taken {
            foreign(format!("port {name}"))
        } else {
            Decision::Act(Action::InsertBridge { bridge, network })
        };
    };
    let shown = observe_bridge(rows, row);
    if shown.mark.as_ref() != Some(network) {
        return foreign(format!("bridge {name}"));
    }
    if bridge_is_as_wanted(&shown, bridge) {
        return Decision::Nothing;
    }
    let own_port = rows.ports_of(row).any(|port| port.name == name);
    Decision::Act(Action::UpdateBridge { bridge, network, own_port })
}

/// Why Open vSwitch cannot make a port that meets its pod in this way.
fn no_such_ports(operation: &Op, connection: &Connection) -> OpError {
    let reason = match connection {
        Connection::Memif { .. } => "Open vSwitch has no memif: give the network port type VhostUser, or engine VPP",
        Connection::VhostUser { .. } => {
            "Open vSwitch only connects to vhost-user sockets: give the network vhostUser.engineRole Client, or engine VPP"
        }
        Connection::Veth { .. } => {
            "the device has another name than its port; this is a defect of usnet, please report it"
        }
    };
    OpError::Refused { what: operation.subject(), reason: reason.to_owned() }
}

/// Why a bridge that somebody else made does not take a network's ports.
fn refuse_adopted(rows: &Rows, new: NewPort<'_>) -> Option<OpError> {
    let name = new.port.bridge.as_str();
    let shown = rows.bridges.get(name).map(|row| observe_bridge(rows, row));
    let found = unusable(shown.as_ref(), new.network)?;
    Some(OpError::BridgeUnusable { bridge: name.to_owned(), found })
}

fn create_port<'a>(rows: &Rows, new: NewPort<'a>) -> Decision<'a> {
    let port = new.port;
    let is_adopted = port.ownership == Ownership::Adopted;
    if let Some(error) = is_adopted.then(|| refuse_adopted(rows, new)).flatten() {
        return Decision::Refuse(error);
    }
    let (name, mark) = (port.name.as_str(), new.mark());
    let Some(row) = rows.port(name) else {
        return match (rows.interface(name), taken_socket(rows, new.end)) {
            (Some(_), _) => foreign(format!("interface {name}")),
            (None, Some(socket)) => Decision::Refuse(OpError::SocketInUse { socket: socket.as_path().to_owned() }),
            (None, None) => Decision::Act(Action::InsertPort(new)),
        };
    };
    let shown = observe_port(rows, row);
    let is_on_bridge = rows.bridges.get(port.bridge.as_str()).is_some_and(|bridge| bridge.ports.contains(&row.uuid));
    let found = match &shown.mark {
        None => return foreign(format!("port {name}")),
        Some(found) if *found != mark => format!("it belongs to {}", found.attachment),
        Some(_) if !is_on_bridge => "it is on another bridge".to_owned(),
        Some(_) if shown.connection.as_ref() != Some(&port.connection) => "it has another socket or device".to_owned(),
        Some(_) => return settle_port(&port.name, &shown, &port.settings, mark),
    };
    Decision::Refuse(OpError::PortDiffers { port: port.name.clone(), found })
}

/// The socket, if another port has it.
fn taken_socket<'a>(rows: &Rows, end: PodEnd<'a>) -> Option<&'a SocketPath> {
    let PodEnd::Socket(socket) = end else { return None };
    let serves = |path: &String| socket.as_path().as_os_str() == path.as_str();
    let mut interfaces = rows.interfaces.values();
    interfaces.any(|interface| interface.options.get(VHOST_SERVER_PATH).is_some_and(serves)).then_some(socket)
}

/// One of our ports that is in its place: only its settings may differ.
fn settle_port<'a>(
    port: &'a PortName,
    shown: &ObservedPort,
    settings: &'a PortSettings,
    mark: PortMark,
) -> Decision<'a> {
    if port_is_as_wanted(shown, settings) {
        Decision::Nothing
    } else {
        let shaper = shown.connection.as_ref().map_or(Shaper::Policer, Shaper::of);
        Decision::Act(Action::UpdatePort { port, settings, shaper, mark })
    }
}
