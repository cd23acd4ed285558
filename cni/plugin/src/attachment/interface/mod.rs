//! The interface of a pod that uses the kernel's network stack: one end of a veth pair, created in
//! the pod's network namespace. The other end is on the node, where the engine attaches to it.
//!
//! The node's end has the ownership tag `usnet:<attachment>` as its alias; a device with another
//! alias is never deleted. The kernel cannot set the alias on creation. Until it is set, the device
//! is recognized by its MAC address, which is set on creation and derived from the attachment.

mod address;
mod error;
mod ethtool;
mod link;
mod namespace;
mod netlink;

use crate::protocol::result::Assignment;
pub use error::InterfaceError;
use error::failed;
use ipnet::IpNet;
use link::{Link, NewPair};
use namespace::PodNamespace;
use netlink::Netlink;
pub use netlink::NetlinkError;
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::errno::Errno;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::path::Path;
use usnet_crds::MacAddress;
use usnet_dataplane::attachment::{AttachmentId, InterfaceName, Record};
use usnet_dataplane::port::DeviceName;

/// Checks that a pod's interface can be created in the network namespace.
///
/// # Errors
/// Why not.
pub fn check_namespace(path: &Path) -> Result<(), InterfaceError> {
    PodNamespace::open(path)?.within(|| Ok(()))
}

/// Creates the veth pair of an attachment, with `device` on the node, and configures both ends. The
/// pod's end is set up last. The pod's default routes of the families of `default_route` are
/// replaced by those of the assignment.
///
/// # Errors
/// The kernel's error. Part of it may exist; [`remove`] removes it.
pub fn create(
    record: &Record,
    device: &DeviceName,
    mac: MacAddress,
    assignment: &Assignment,
    default_route: &[IpAddr],
) -> Result<(), InterfaceError> {
    let namespace = PodNamespace::open(&record.network_namespace)?;
    let interface = &record.id.interface;
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("make", device.as_str()))?;
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
            let on_node = link::find(&mut netlink, device.as_str()).map_err(failed("look for", device.as_str()))?;
            return Err(match on_node {
                Some(_) => InterfaceError::DeviceExists(device.clone()),
                None => InterfaceError::Exists(interface.clone()),
            });
        }
        Err(error) => return Err(failed("make", device.as_str())(error)),
    }
    set_up_device(&mut netlink, device, &ownership_alias(&record.id))?;
    namespace.within(|| set_up_interface(interface, assignment, default_route))
}

fn set_up_device(netlink: &mut Netlink, device: &DeviceName, ownership_alias: &str) -> Result<(), InterfaceError> {
    let name = device.as_str();
    let index = index_of(netlink, name)?;
    ethtool::disable_checksum_offload(index).map_err(failed("switch off checksum offload of", name))?;
    link::set_link_up(netlink, index, Some(ownership_alias)).map_err(failed("mark and switch on", name))
}

/// Configures the addresses that were assigned after the interface was created.
///
/// # Errors
/// The kernel's error.
pub fn assign(record: &Record, assignment: &Assignment, default_route: &[IpAddr]) -> Result<(), InterfaceError> {
    let interface = &record.id.interface;
    PodNamespace::open(&record.network_namespace)?.within(|| {
        let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("set up", interface.as_str()))?;
        let index = index_of(&mut netlink, interface.as_str())?;
        add_addresses(&mut netlink, index, interface, assignment)?;
        add_routes(&mut netlink, index, interface, assignment, default_route)
    })
}

/// Runs in the pod's network namespace. Routes need a device that is up.
fn set_up_interface(
    interface: &InterfaceName,
    assignment: &Assignment,
    default_route: &[IpAddr],
) -> Result<(), InterfaceError> {
    let name = interface.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("set up", name))?;
    let index = index_of(&mut netlink, name)?;
    ethtool::disable_checksum_offload(index).map_err(failed("switch off checksum offload of", name))?;
    add_addresses(&mut netlink, index, interface, assignment)?;
    link::set_link_up(&mut netlink, index, None).map_err(failed("switch on", name))?;
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
        address::add(netlink, index, assigned.address).map_err(failed("give an address to", interface.as_str()))?;
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
    for router in default_route {
        address::remove_default_routes(netlink, *router).map_err(failed("take the default route for", name))?;
    }
    for route in &assignment.routes {
        address::add_route(netlink, index, route, assignment).map_err(failed("add a route over", name))?;
    }
    Ok(())
}

/// Some runtimes disable IPv6 for each new interface of a pod.
fn allow_ipv6(interface: &InterfaceName) -> io::Result<()> {
    let file = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    if fs::read_to_string(&file)?.trim() == "0" { Ok(()) } else { fs::write(file, "0") }
}

/// Removes the veth pair of an attachment, if it exists and has its ownership tag.
///
/// # Errors
/// The kernel's error.
pub fn remove(id: &AttachmentId, device: &DeviceName) -> Result<(), InterfaceError> {
    let name = device.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("look for", name))?;
    match link::find(&mut netlink, name).map_err(failed("look for", name))? {
        Some(found) if is_ours(&found, id) => link::delete(&mut netlink, found.index).map_err(failed("remove", name)),
        _ => Ok(()),
    }
}

/// How the interface and its other end differ from what ADD created.
///
/// # Errors
/// The kernel's error.
pub fn differences(record: &Record, device: &DeviceName) -> Result<Vec<String>, InterfaceError> {
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("look for", device.as_str()))?;
    let on_node = link::find(&mut netlink, device.as_str()).map_err(failed("look for", device.as_str()))?;
    let Some(on_node) = on_node.filter(|found| is_ours(found, &record.id)) else {
        return Ok(vec![format!("the node has no device {device} of it")]);
    };
    let mut found = Vec::new();
    if !on_node.is_up {
        found.push(format!("device {device} is switched off"));
    }
    let interface = &record.id.interface;
    let in_pod = PodNamespace::open(&record.network_namespace)?.within(|| read_interface(interface))?;
    match in_pod {
        None => found.push(format!("the pod has no interface {interface}")),
        Some((link, _)) if link.peer != Some(on_node.index) => {
            found.push(format!("interface {interface} of the pod is another device than the one that was made"));
        }
        Some((link, addresses)) => found.extend(interface_differences(record, &link, &addresses)),
    }
    Ok(found)
}

/// In the pod's network namespace.
fn read_interface(interface: &InterfaceName) -> Result<Option<(Link, Vec<IpNet>)>, InterfaceError> {
    let name = interface.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("look for", name))?;
    let Some(link) = link::find(&mut netlink, name).map_err(failed("look for", name))? else { return Ok(None) };
    let addresses = address::list(&mut netlink, link.index).map_err(failed("read the addresses of", name))?;
    Ok(Some((link, addresses)))
}

fn interface_differences(record: &Record, link: &Link, addresses: &[IpNet]) -> Vec<String> {
    let interface = &record.id.interface;
    let mut found = Vec::new();
    if !link.is_up {
        found.push(format!("interface {interface} of the pod is switched off"));
    }
    let is_mac = record.mac.parse::<MacAddress>().is_ok_and(|mac| mac.octets().as_slice() == link.mac);
    if !is_mac {
        found.push(format!("interface {interface} of the pod has another MAC address than {}", record.mac));
    }
    let mtu = u32::from(record.port.settings.mtu.get());
    if link.mtu != mtu {
        found.push(format!("the MTU of interface {interface} of the pod is {} and should be {mtu}", link.mtu));
    }
    let is_there = |ip| addresses.iter().any(|address| address.addr() == ip);
    let missing = record.addresses.iter().filter(|address| !is_there(address.ip));
    found.extend(missing.map(|address| format!("interface {interface} of the pod lacks its address {}", address.ip)));
    found
}

/// The alias of the device on the node.
fn ownership_alias(id: &AttachmentId) -> String {
    format!("usnet:{id}")
}

/// The MAC address of the device on the node; no frame carries it.
fn device_mac(id: &AttachmentId) -> MacAddress {
    MacAddress::of(&format!("{} on the node", ownership_alias(id)))
}

fn is_ours(found: &Link, id: &AttachmentId) -> bool {
    found.is_veth
        && match &found.alias {
            Some(alias) => *alias == ownership_alias(id),
            None => found.mac == device_mac(id).octets(),
        }
}

fn index_of(netlink: &mut Netlink, name: &str) -> Result<u32, InterfaceError> {
    let found = link::find(netlink, name).map_err(failed("look for", name))?;
    found.map(|link| link.index).ok_or_else(|| InterfaceError::Gone(name.to_owned()))
}

#[cfg(test)]
mod tests;
