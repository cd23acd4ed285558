//! Ports: memif, vhost-user and host interfaces (af_packet).

use super::bridges;
use super::claims::Claims;
use super::decision::{Context, Decision, NewPort, Origin, commands};
use crate::engine::error::OpError;
use crate::engine::vpp::command::VppCommand;
use crate::engine::vpp::filter_command::FilterCommand;
use crate::engine::vpp::guard::GuardChange;
use crate::engine::vpp::port_settings::{check, configure};
use crate::engine::vpp::ports::{NewInterface, PortCommand};
use crate::engine::vpp::qos::Direction;
use crate::engine::vpp::routing::RoutedPort;
use crate::engine::vpp::snapshot::{Filter, Interface, VppSnapshot};
use crate::engine::vpp::tags;
use crate::model::memif::MemifSocketIds;
use crate::model::owner::Owner;
use crate::model::port::{DesiredPort, DesiredSettings, PortBackend, PortName};
use std::path::PathBuf;
use usnet_crds::NetworkName;

/// Deletes all objects of an owner: its tagged interfaces, an incomplete one on its socket,
/// and ids of the socket.
pub(super) fn remove<'a>(
    Context { snapshot, own_socket_ids, .. }: Context<'_>,
    port: &PortName,
    owner: &Owner,
    backend: Option<&PortBackend>,
) -> Result<Decision<'a>, OpError> {
    let owned: Vec<_> = if *port == PortName::of_owner(owner) {
        snapshot.owned(port).filter(|(_, interface)| interface.owner.as_ref() == Some(owner)).collect()
    } else {
        // The name is VPP's own: a second interface with the same tag, or one without a tag.
        let named = snapshot.interfaces.iter().find(|(_, interface)| interface.name == port.as_str());
        let owned = named.filter(|(_, interface)| interface.owner.as_ref() == Some(owner));
        let is_its_incomplete =
            |interface: &Interface| interface.is_incomplete(own_socket_ids) && interface.backend().as_ref() == backend;
        if owned.is_none() && named.is_some_and(|(_, interface)| !is_its_incomplete(interface)) {
            return Err(OpError::Foreign { what: format!("port {port}") });
        }
        owned.map(|(index, interface)| (*index, interface)).into_iter().collect()
    };
    let socket = backend.map(PortBackend::endpoint_name);
    let incomplete = socket.as_deref().and_then(|socket| snapshot.serving(socket));
    let incomplete = incomplete
        .filter(|(_, interface)| interface.is_incomplete(own_socket_ids) && interface.backend().as_ref() == backend);
    let mut list: Vec<VppCommand> = Vec::new();
    for (index, interface) in owned.into_iter().chain(incomplete) {
        list.extend(remove_interface(snapshot, index, interface));
    }
    let unused = socket.iter().flat_map(|socket| snapshot.unused_ids(socket, own_socket_ids));
    list.extend(unused.map(|id| VppCommand::Port(PortCommand::delete_socket_id(id))));
    // After the interface that they are attached to.
    list.extend(snapshot.policers.of(port).map(|policer| VppCommand::DeletePolicer { name: policer.name() }));
    Ok(commands(list))
}

/// Deletes the interface with this index, of a snapshot that has only that one and its bridge
/// domain. `None` if it is not certain that it is the port's and that nothing else depends on it:
/// neither policers nor an implicit bridge domain.
pub(in crate::engine::vpp) fn remove_single_interface(
    snapshot: &VppSnapshot,
    index: u32,
    port: &PortName,
    owner: &Owner,
) -> Option<Vec<VppCommand>> {
    let interface = snapshot.interfaces.get(&index)?;
    let domain = snapshot.domains.get(&interface.domain?)?;
    let is_policed =
        Direction::ALL.into_iter().any(|direction| interface.policed.in_direction(direction) == Some(true))
            || snapshot.policers.of(port).next().is_some();
    let is_its_own = interface.owner.as_ref() == Some(owner) && *port == PortName::of_owner(owner);
    (is_its_own && domain.is_tagged && !is_policed).then(|| remove_interface(snapshot, index, interface))
}

/// Removes an interface with the id of its socket, and with its bridge domain if that is implicit.
/// VPP rejects the deletion of either while it is in use by others.
fn remove_interface(snapshot: &VppSnapshot, index: u32, interface: &Interface) -> Vec<VppCommand> {
    let port = interface.port.iter();
    let delete = port.flat_map(|port| {
        let delete_socket = port.socket_id().map(PortCommand::delete_socket_id);
        port.delete(index).into_iter().chain(delete_socket)
    });
    let routes = snapshot.routing.remove_routes(index).map(VppCommand::Routing);
    let spans = snapshot.spans.stop(index);
    let (unset, delete_tables) = remove_filter(index, interface.filter.as_ref());
    let delete = unset.into_iter().chain(delete.map(VppCommand::Port)).chain(delete_tables);
    let delete_acls = interface.acls.iter().map(|index| VppCommand::DeleteAcl { index: *index });
    let mut list: Vec<VppCommand> = spans.chain(routes).chain(delete).chain(delete_acls).collect();
    let domain =
        interface.domain.filter(|id| snapshot.domains.get(id).is_some_and(|domain| snapshot.is_implicit(domain)));
    list.extend(domain.map(|id| VppCommand::DeleteBridgeDomain { id }));
    list
}

/// The commands before and after the deletion of a filtered interface. It is down while it is not
/// filtered, and the next interface with its index gets no table of it.
fn remove_filter(index: u32, filter: Option<&Filter>) -> (Vec<VppCommand>, Option<VppCommand>) {
    let Some(filter) = filter else { return (Vec::new(), None) };
    let unset = FilterCommand::Unset { index, table: filter.first }.into();
    let delete = filter.is_own().then(|| FilterCommand::DeleteTables { first: filter.first }.into());
    (vec![VppCommand::SetAdminDown { index }, unset], delete)
}

pub(super) fn create<'a>(
    context: Context<'_>,
    claims: &mut Claims<'a>,
    port: &'a DesiredPort,
) -> Result<Decision<'a>, OpError> {
    let Context { snapshot, own_socket_ids, limits, .. } = context;
    let owner = &port.owner.owner;
    check(&port.name, &port.settings, limits)?;
    let tag = tags::owner_tag(owner)?;
    let domain = bridges::of_port(snapshot, port)?;
    claims.name(&port.name, owner)?;
    let new = |origin| {
        let policers = snapshot.policers.only(&port.name);
        let policed = limits.unbridged(matches!(origin, Origin::Existing { .. }));
        let routed = routed(snapshot, domain, port, &origin)?;
        Ok(Decision::Create(NewPort { port, domain, tag, origin, routed, policers, policed }))
    };
    let differs = |found: String| Err(OpError::PortDiffers { port: port.name.clone(), found });
    if let Some((index, interface)) = snapshot.owned(&port.name).next() {
        let is_bridged =
            interface.domain.is_some_and(|id| snapshot.domains.get(&id).is_some_and(|it| !snapshot.is_implicit(it)));
        return match &interface.owner {
            Some(other) if other != owner => differs(format!("it is owned by {other}")),
            _ if interface.backend().as_ref() != Some(&port.backend) => {
                differs("it has another socket or device".to_owned())
            }
            _ if !is_bridged => new(Origin::Existing { index }),
            _ if interface.domain != Some(domain) => differs("it is on another bridge".to_owned()),
            _ => Ok(in_place(snapshot, (index, interface), &port.name, &port.settings)),
        };
    }
    let socket = port.backend.endpoint_name();
    claims.socket(&socket)?;
    match snapshot.serving(&socket) {
        Some((index, interface)) if is_resumable(interface, domain, &port.backend, own_socket_ids) => {
            new(Origin::Existing { index })
        }
        Some(_) => Err(OpError::SocketInUse { socket: PathBuf::from(socket) }),
        None => new(origin(context, claims, port, socket)?),
    }
}

/// How a port in IP mode comes to the gateway of its network; `None` for all others.
fn routed(
    snapshot: &VppSnapshot,
    domain: u32,
    port: &DesiredPort,
    origin: &Origin,
) -> Result<Option<Box<RoutedPort>>, OpError> {
    if !port.backend.is_routed() {
        return Ok(None);
    }
    if port.settings.guard.is_some() {
        let reason = "VPP does not check what pods claim to be on a memif in IP mode: use the mode Ethernet";
        return Err(OpError::Refused { what: format!("port {}", port.name), reason: reason.to_owned() });
    }
    let existing = match origin {
        Origin::Existing { index } => Some(*index),
        Origin::New(_) => None,
    };
    let network = port.owner.network.as_ref();
    let found = network
        .and_then(|network| RoutedPort::new(&snapshot.routing, (network, domain), existing, &port.settings.routed));
    found.map(|port| Some(Box::new(port))).ok_or_else(|| {
        let network = network.map_or("", NetworkName::as_str);
        let reason = format!(
            "it is a memif in IP mode, and network {network} has no gateway on this node: set spec.gateway of the network"
        );
        OpError::Refused { what: format!("port {}", port.name), reason }
    })
}

/// Whether an interface on this socket or device is incomplete: an ADD was interrupted before it
/// was tagged, or others removed its tag.
fn is_resumable(interface: &Interface, domain: u32, backend: &PortBackend, own_socket_ids: MemifSocketIds) -> bool {
    let is_free = interface.domain.is_none_or(|id| id == domain);
    interface.is_incomplete(own_socket_ids) && is_free && interface.backend().as_ref() == Some(backend)
}

fn origin(
    Context { snapshot, own_socket_ids, .. }: Context<'_>,
    claims: &mut Claims<'_>,
    port: &DesiredPort,
    endpoint: String,
) -> Result<Origin, OpError> {
    let reserve = |socket: &str| {
        let id = claims.socket_id(socket, snapshot, own_socket_ids)?;
        Ok((id, snapshot.unused_ids(socket, own_socket_ids).collect()))
    };
    NewInterface::plan(port, endpoint, reserve).map(Origin::New)
}

pub(super) fn update<'a>(
    Context { snapshot, limits, .. }: Context<'_>,
    DesiredPort { name, owner, settings, .. }: &DesiredPort,
) -> Result<Decision<'a>, OpError> {
    check(name, settings, limits)?;
    let mut owned = snapshot.owned(name).filter(|(_, interface)| interface.owner.as_ref() == Some(&owner.owner));
    let found = owned.next().ok_or_else(|| OpError::PortMissing { port: name.clone() })?;
    Ok(in_place(snapshot, found, name, settings))
}

/// The settings of a port in its place that differ. It is not set up before its guard is.
fn in_place<'a>(
    snapshot: &VppSnapshot,
    (index, interface): (u32, &Interface),
    port: &PortName,
    settings: &DesiredSettings,
) -> Decision<'a> {
    let mut list = configure(snapshot, (index, interface), port, settings);
    let found = interface.filter.clone();
    if found.as_ref().and_then(Filter::guard) == settings.guard {
        return commands(list);
    }
    let last = list.extract_if(.., |command| matches!(command, VppCommand::SetAdminUp { .. })).collect();
    let change = GuardChange { index, found, desired: settings.guard.clone() };
    Decision::Guard(list, Box::new(change), last)
}
