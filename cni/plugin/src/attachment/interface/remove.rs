//! Removes the veth pair.

use super::error::{InterfaceError, failed};
use super::link;
use super::owner::is_ours;
use netlink_sys::protocols::NETLINK_ROUTE;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::netlink::Netlink;
use usnet_dataplane::port::DeviceName;

/// Removes the veth pair of an attachment, if it exists and is owned by usnet.
pub fn remove(id: &AttachmentId, device: &DeviceName) -> Result<(), InterfaceError> {
    let name = device.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("find", name))?;
    match link::find(&mut netlink, name).map_err(failed("find", name))? {
        Some(found) if is_ours(&found, id) => link::delete(&mut netlink, found.index).map_err(failed("delete", name)),
        _ => Ok(()),
    }
}
