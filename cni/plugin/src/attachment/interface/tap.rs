//! The interface of a pod that is a tap of the engine: the engine creates and deletes it, in the
//! pod's network namespace. It stays when the engine ends, and with it what [`assign`] configured.
//!
//! [`assign`]: super::assign

use super::check::{ExpectedInterface, interface_differences, read_interface};
use super::error::{InterfaceError, failed};
use super::link::{self, Link};
use super::namespace::PodNamespace;
use netlink_sys::protocols::NETLINK_ROUTE;
use usnet_crds::MacAddress;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::netlink::Netlink;

/// Checks that the pod has no other interface of the name, which the engine would take.
pub fn check_name(record: &Record) -> Result<(), InterfaceError> {
    let interface = &record.id.interface;
    let found = PodNamespace::open(&record.network_namespace)?.within(|| read_interface(interface))?;
    match found {
        Some((link, _)) if !is_ours(&link, record) => Err(InterfaceError::Exists(interface.clone())),
        _ => Ok(()),
    }
}

/// Deletes the interface where the engine did not, because it does not run. It ends with the
/// network namespace.
pub fn remove(record: &Record) -> Result<(), InterfaceError> {
    let name = record.id.interface.as_str();
    let Ok(namespace) = PodNamespace::open(&record.network_namespace) else { return Ok(()) };
    namespace.within(|| {
        let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("find", name))?;
        match link::find(&mut netlink, name).map_err(failed("find", name))? {
            Some(found) if is_ours(&found, record) => {
                link::delete(&mut netlink, found.index).map_err(failed("delete", name))
            }
            _ => Ok(()),
        }
    })
}

/// How the interface differs from the one that ADD left.
pub fn differences(record: &Record, expected: &ExpectedInterface) -> Result<Vec<String>, InterfaceError> {
    let interface = &record.id.interface;
    let found = PodNamespace::open(&record.network_namespace)?.within(|| read_interface(interface))?;
    Ok(match found {
        None => vec![format!("the pod has no interface {interface}")],
        Some((link, addresses)) => interface_differences(record, expected, &link, &addresses),
    })
}

fn is_ours(found: &Link, record: &Record) -> bool {
    record.mac.parse().is_ok_and(|mac: MacAddress| found.is_tun && found.mac == mac.octets())
}
