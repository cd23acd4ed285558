//! Whether a program receives all frames of the device on the node. A missing device is not
//! promiscuous.

use super::error::{InterfaceError, failed};
use super::link;
use netlink_sys::protocols::NETLINK_ROUTE;
use usnet_dataplane::netlink::Netlink;
use usnet_dataplane::port::DeviceName;

pub fn is_promiscuous(device: &DeviceName) -> Result<bool, InterfaceError> {
    let name = device.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("find", name))?;
    let found = link::find(&mut netlink, name).map_err(failed("find", name))?;
    Ok(found.is_some_and(|link| link.is_promiscuous))
}
