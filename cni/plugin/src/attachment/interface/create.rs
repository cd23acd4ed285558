//! Creates the veth pair and configures both ends.

use super::address;
use super::checksums;
use super::error::{InterfaceError, failed};
use super::link::{self, NewPair};
use super::namespace::PodNamespace;
use super::owner::{device_mac, ownership_alias};
use crate::protocol::result::Assignment;
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::errno::Errno;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;
use usnet_crds::MacAddress;
use usnet_dataplane::attachment::{InterfaceName, Record};
use usnet_dataplane::isolation::{self, settings};
use usnet_dataplane::netlink::Netlink;
use usnet_dataplane::port::{DeviceName, DeviceRole};

/// Checks that a pod's interface can be created in the network namespace.
pub fn check_namespace(path: &Path) -> Result<(), InterfaceError> {
    PodNamespace::open(path)?.within(|| Ok(()))
}

/// Creates the veth pair of an attachment, with `device` on the node, and configures both ends. The
/// pod's end is set up last. The pod's default routes of the families of `default_route` are
/// replaced by those of the assignment.
///
/// # Errors
/// The kernel rejected a request. A part of the pair may exist, and [`remove`](super::remove())
/// deletes it.
pub fn create(
    record: &Record,
    device: &DeviceName,
    mac: MacAddress,
    assignment: &Assignment,
    default_route: &[IpAddr],
) -> Result<(), InterfaceError> {
    let namespace = PodNamespace::open(&record.network_namespace)?;
    let interface = &record.id.interface;
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("create", device.as_str()))?;
    let pair = NewPair {
        device: device.as_str(),
        device_mac: device_mac(&record.id),
        interface: interface.as_str(),
        mac,
        mtu: record.port.settings.mtu,
        namespace: namespace.file.as_fd(),
    };
    match link::create_pair(&mut netlink, &pair) {
        Ok(()) => {}
        Err(error) if error.is(Errno::EEXIST) => {
            let on_node = link::find(&mut netlink, device.as_str()).map_err(failed("find", device.as_str()))?;
            return Err(match on_node {
                Some(_) => InterfaceError::DeviceExists(device.clone()),
                None => InterfaceError::Exists(interface.clone()),
            });
        }
        Err(error) => return Err(failed("create", device.as_str())(error)),
    }
    set_up_device(&mut netlink, device, record)?;
    namespace.within(|| set_up_interface(record, assignment, default_route))
}

fn set_up_device(netlink: &mut Netlink, device: &DeviceName, record: &Record) -> Result<(), InterfaceError> {
    let name = device.as_str();
    let index = index_of(netlink, name)?;
    checksums::disable_offload(index, DeviceRole::EngineEndpoint, &record.port.backend)
        .map_err(failed("disable checksum offload of", name))?;
    // The device is isolated before it is up: from then on the pod could reach the node over it.
    isolation::isolate(name).map_err(|source| InterfaceError::not_isolated(device, source))?;
    settings::disable_ipv6(name);
    link::set_isolated(netlink, index);
    let alias = ownership_alias(&record.id);
    link::set_link_up(netlink, index, Some(alias.as_str())).map_err(failed("tag and set up", name))
}

/// Configures the addresses that were assigned after the interface was created.
pub fn assign(record: &Record, assignment: &Assignment, default_route: &[IpAddr]) -> Result<(), InterfaceError> {
    let interface = &record.id.interface;
    PodNamespace::open(&record.network_namespace)?.within(|| {
        let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("configure", interface.as_str()))?;
        let index = index_of(&mut netlink, interface.as_str())?;
        add_addresses(&mut netlink, index, interface, assignment)?;
        add_routes(&mut netlink, index, interface, assignment, default_route)
    })
}

/// Configures the interface. The caller is in the pod's network namespace. Routes need a device
/// that is up.
fn set_up_interface(record: &Record, assignment: &Assignment, default_route: &[IpAddr]) -> Result<(), InterfaceError> {
    let interface = &record.id.interface;
    let name = interface.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("configure", name))?;
    let index = index_of(&mut netlink, name)?;
    checksums::disable_offload(index, DeviceRole::PodEndpoint, &record.port.backend)
        .map_err(failed("disable checksum offload of", name))?;
    add_addresses(&mut netlink, index, interface, assignment)?;
    link::set_link_up(&mut netlink, index, None).map_err(failed("set up", name))?;
    add_routes(&mut netlink, index, interface, assignment, default_route)
}

fn add_addresses(
    netlink: &mut Netlink,
    index: u32,
    interface: &InterfaceName,
    assignment: &Assignment,
) -> Result<(), InterfaceError> {
    if assignment.ips.iter().any(|assigned| assigned.address.addr().is_ipv6()) {
        allow_ipv6(interface).map_err(|source| InterfaceError::Ipv6 { interface: interface.clone(), source })?;
    }
    for assigned in &assignment.ips {
        address::add(netlink, index, assigned.address).map_err(failed("add an address to", interface.as_str()))?;
    }
    Ok(())
}

fn add_routes(
    netlink: &mut Netlink,
    index: u32,
    interface: &InterfaceName,
    assignment: &Assignment,
    default_route: &[IpAddr],
) -> Result<(), InterfaceError> {
    let name = interface.as_str();
    for gateway in default_route {
        address::remove_default_routes(netlink, *gateway)
            .map_err(failed("remove the default routes that are replaced by those of", name))?;
    }
    for route in &assignment.routes {
        address::add_route(netlink, index, route, assignment).map_err(failed("add a route over", name))?;
    }
    Ok(())
}

/// Enables IPv6, which some runtimes disable for each new interface of a pod.
fn allow_ipv6(interface: &InterfaceName) -> io::Result<()> {
    let file = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    if fs::read_to_string(&file)?.trim() == "0" { Ok(()) } else { fs::write(file, "0") }
}

fn index_of(netlink: &mut Netlink, name: &str) -> Result<u32, InterfaceError> {
    let found = link::find(netlink, name).map_err(failed("find", name))?;
    found.map(|link| link.index).ok_or_else(|| InterfaceError::Disappeared(name.to_owned()))
}
