//! Ports: memif and vhost-user interfaces, and those on devices of the kernel.

use super::settings::{check, settle};
use super::{Claims, Decision, NewPort, Origin, Situation, bridges, changes};
use crate::attachment::AttachmentId;
use crate::engine::OpError;
use crate::memif::MemifSocketIds;
use crate::port::{AttachedPort, Connection, PortName, PortSettings};
use crate::vpp::change::{Change, HostDevice, SocketName, VhostUserPath};
use crate::vpp::marks;
use crate::vpp::shown::{Interface, Kind, Shown};
use std::path::PathBuf;
use usnet_crds::{NetworkName, SocketRole};
use usnet_vpp::wire::{Secret, TextError};

/// All that an attachment has: its marked interfaces, one that was begun on its socket, and ids of the socket.
pub(super) fn remove<'a>(
    Situation { shown, ours, .. }: Situation<'_>,
    port: &PortName,
    attachment: &str,
    connection: Option<&Connection>,
) -> Result<Decision<'a>, OpError> {
    let marked: Vec<_> = if *port == PortName::of_mark(attachment) {
        shown.marked(port).filter(|(_, interface)| interface.mark.as_deref() == Some(attachment)).collect()
    } else {
        // One that VPP's name stands for: a second one with the same mark, or one without a mark.
        let named = shown.interfaces.iter().find(|(_, interface)| interface.name == port.as_str());
        let marked = named.filter(|(_, interface)| interface.mark.as_deref() == Some(attachment));
        let is_ours = |interface: &Interface| interface.is_begun(ours) && interface.connection().as_ref() == connection;
        if marked.is_none() && named.is_some_and(|(_, interface)| !is_ours(interface)) {
            return Err(OpError::Foreign { what: format!("port {port}") });
        }
        marked.map(|(index, interface)| (*index, interface)).into_iter().collect()
    };
    let socket = connection.map(Connection::end_name);
    let begun = socket.as_deref().and_then(|socket| shown.serving(socket));
    let begun =
        begun.filter(|(_, interface)| interface.is_begun(ours) && interface.connection().as_ref() == connection);
    let mut list: Vec<Change> = Vec::new();
    for (index, interface) in marked.into_iter().chain(begun) {
        list.extend(remove_interface(shown, index, interface));
    }
    let unused = socket.iter().flat_map(|socket| shown.unused_ids(socket, ours));
    list.extend(unused.map(|id| Change::ForgetSocket { id }));
    // Behind the interface that they look at.
    list.extend(shown.policers.of(port).map(|policer| Change::DeletePolicer { name: policer.name() }));
    Ok(changes(list))
}

/// With the id of its socket, and with its bridge domain if VPP made that by itself. VPP keeps both while something else uses them.
fn remove_interface(shown: &Shown, index: u32, interface: &Interface) -> Vec<Change> {
    let mut list = match &interface.kind {
        Kind::Memif { socket_id, .. } => {
            vec![Change::DeleteMemif { index }, Change::ForgetSocket { id: *socket_id }]
        }
        Kind::VhostUser { .. } => vec![Change::DeleteVhostUser { index }],
        // VPP gave us the name in a field of this size.
        Kind::Device { name } => {
            vec![Change::DeleteOnDevice { name: HostDevice::new(name.as_str()).unwrap_or_default() }]
        }
        Kind::Other => Vec::new(),
    };
    let domain = interface.domain.filter(|id| shown.domains.get(id).is_some_and(|domain| shown.is_stray(domain)));
    list.extend(domain.map(|id| Change::DeleteDomain { id }));
    list
}

pub(super) fn create<'a>(
    situation: Situation<'_>,
    claims: &mut Claims<'a>,
    (network, attachment, port): (&'a NetworkName, &AttachmentId, &'a AttachedPort),
) -> Result<Decision<'a>, OpError> {
    let Situation { shown, ours, limits } = situation;
    let mark = attachment.to_string();
    check(&port.name, &port.settings, limits)?;
    let tag = marks::attachment_tag(&mark)?;
    let domain = bridges::of_port(shown, port, network)?;
    claims.name(&port.name, &mark)?;
    let new = |origin| {
        let policers = shown.policers.only(&port.name);
        let policed = limits.unbridged(matches!(origin, Origin::Found { .. }));
        let settings = port.settings.clone();
        let ownership = port.ownership;
        Decision::Make(NewPort {
            network,
            ownership,
            name: &port.name,
            domain,
            tag,
            settings,
            origin,
            policers,
            policed,
        })
    };
    let differs = |found: String| Err(OpError::PortDiffers { port: port.name.clone(), found });
    if let Some((index, interface)) = shown.marked(&port.name).next() {
        let is_bridged =
            interface.domain.is_some_and(|id| shown.domains.get(&id).is_some_and(|it| !shown.is_stray(it)));
        return match &interface.mark {
            Some(owner) if *owner != mark => differs(format!("it belongs to {owner}")),
            _ if interface.connection().as_ref() != Some(&port.connection) => {
                differs("it has another socket or device".to_owned())
            }
            _ if !is_bridged => Ok(new(Origin::Found { index })),
            _ if interface.domain != Some(domain) => differs("it is on another bridge".to_owned()),
            _ => Ok(changes(settle(shown, (index, interface), &port.name, &port.settings))),
        };
    }
    let socket = port.connection.end_name();
    claims.socket(&socket)?;
    match shown.serving(&socket) {
        Some((index, interface)) if is_unfinished(interface, domain, &port.connection, ours) => {
            Ok(new(Origin::Found { index }))
        }
        Some(_) => Err(OpError::SocketInUse { socket: PathBuf::from(socket) }),
        None => origin(situation, claims, port, socket).map(new),
    }
}

/// Whether somebody began to make a memif on this socket, or an interface on this device, and was stopped before it was marked, or took its mark away.
fn is_unfinished(interface: &Interface, domain: u32, connection: &Connection, ours: MemifSocketIds) -> bool {
    let is_free = interface.domain.is_none_or(|id| id == domain);
    interface.is_begun(ours) && is_free && interface.connection().as_ref() == Some(connection)
}

fn origin(
    Situation { shown, ours, .. }: Situation<'_>,
    claims: &mut Claims<'_>,
    port: &AttachedPort,
    socket: String,
) -> Result<Origin, OpError> {
    let unfit = |error: TextError| OpError::Refused { what: format!("port {}", port.name), reason: error.to_string() };
    match &port.connection {
        Connection::Memif { .. } => {
            let secret = port.secret.as_ref().map(|secret| Secret::new(secret.reveal())).transpose();
            Ok(Origin::Memif {
                socket_id: claims.socket_id(&socket, shown, ours)?,
                unused: shown.unused_ids(&socket, ours).collect(),
                name: SocketName::new(socket).map_err(unfit)?,
                ring_size: port.ring_size,
                secret: secret.map_err(unfit)?,
            })
        }
        Connection::VhostUser { engine_role, .. } => {
            let path = VhostUserPath::new(socket).map_err(unfit)?;
            Ok(Origin::VhostUser { path, is_server: *engine_role == SocketRole::Server })
        }
        Connection::Veth { .. } => Ok(Origin::Device { name: HostDevice::new(socket).map_err(unfit)? }),
    }
}

pub(super) fn update<'a>(
    Situation { shown, limits, .. }: Situation<'_>,
    port: &PortName,
    attachment: &str,
    settings: &PortSettings,
) -> Result<Decision<'a>, OpError> {
    check(port, settings, limits)?;
    let mut marked = shown.marked(port).filter(|(_, interface)| interface.mark.as_deref() == Some(attachment));
    let found = marked.next().ok_or_else(|| OpError::PortMissing { port: port.clone() })?;
    Ok(changes(settle(shown, found, port, settings)))
}
