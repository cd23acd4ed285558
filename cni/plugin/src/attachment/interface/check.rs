//! Compares the veth pair with the state in which ADD left it.

use super::address;
use super::error::{InterfaceError, failed};
use super::link::{self, Link};
use super::namespace::PodNamespace;
use super::owner::is_ours;
use ipnet::IpNet;
use netlink_sys::protocols::NETLINK_ROUTE;
use usnet_crds::MacAddress;
use usnet_dataplane::attachment::{InterfaceName, Record};
use usnet_dataplane::netlink::Netlink;
use usnet_dataplane::port::DeviceName;

/// The settings of the interface in the pod by the result of ADD, in which plugins later in a list
/// write their changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedInterface {
    pub mac: Option<MacAddress>,
    /// The MTU, which results have since version 1.1.0 of the specification.
    pub mtu: Option<u32>,
}

/// How the interface and its other end differ from the pair that ADD created.
pub fn differences(
    record: &Record,
    device: &DeviceName,
    expected: &ExpectedInterface,
) -> Result<Vec<String>, InterfaceError> {
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("find", device.as_str()))?;
    let on_node = link::find(&mut netlink, device.as_str()).map_err(failed("find", device.as_str()))?;
    let Some(on_node) = on_node.filter(|found| is_ours(found, &record.id)) else {
        return Ok(vec![format!("the node has no device {device} of this interface")]);
    };
    let mut found = Vec::new();
    if !on_node.is_up {
        found.push(format!("device {device} is down"));
    }
    let interface = &record.id.interface;
    let in_pod = PodNamespace::open(&record.network_namespace)?.within(|| read_interface(interface))?;
    match in_pod {
        None => found.push(format!("the pod has no interface {interface}")),
        Some((link, _)) if link.peer != Some(on_node.index) => {
            found.push(format!("interface {interface} of the pod is not the device that ADD created"));
        }
        Some((link, addresses)) => found.extend(interface_differences(record, expected, &link, &addresses)),
    }
    Ok(found)
}

/// Reads the interface. The caller is in the pod's network namespace.
pub(super) fn read_interface(interface: &InterfaceName) -> Result<Option<(Link, Vec<IpNet>)>, InterfaceError> {
    let name = interface.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("find", name))?;
    let Some(link) = link::find(&mut netlink, name).map_err(failed("find", name))? else { return Ok(None) };
    let addresses = address::list(&mut netlink, link.index).map_err(failed("read the addresses of", name))?;
    Ok(Some((link, addresses)))
}

pub(super) fn interface_differences(
    record: &Record,
    expected: &ExpectedInterface,
    link: &Link,
    addresses: &[IpNet],
) -> Vec<String> {
    let interface = &record.id.interface;
    let mut found = Vec::new();
    if !link.is_up {
        found.push(format!("interface {interface} of the pod is down"));
    }
    if let Some(mac) = expected.mac.filter(|mac| mac.octets().as_slice() != link.mac) {
        found.push(format!("interface {interface} of the pod does not have MAC address {mac}"));
    }
    // A plugin later in a list may lower the MTU, and results before version 1.1.0 do not have it.
    let mtu = u32::from(record.port.settings.mtu.get());
    if link.mtu > mtu && expected.mtu != Some(link.mtu) {
        found.push(format!("the MTU of interface {interface} of the pod is {} and should be {mtu}", link.mtu));
    }
    let is_there = |ip| addresses.iter().any(|address| address.addr() == ip);
    let missing = record.addresses.iter().filter(|address| !is_there(address.ip));
    found.extend(
        missing.map(|address| format!("interface {interface} of the pod does not have its address {}", address.ip)),
    );
    found
}
