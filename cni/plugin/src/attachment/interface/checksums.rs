//! Checksum offload of a veth pair, by which the kernel leaves checksums to the hardware, and with
//! them taking merged packets apart. A veth has no hardware and passes such packets on. A userspace
//! switch that knows nothing of it does not finish them, and the receiver would drop them; so both
//! ends complete what they send, unless the engine takes unfinished packets from its end.

use super::error::{InterfaceError, failed};
use super::link;
use super::namespace::PodNamespace;
use netlink_sys::protocols::NETLINK_ROUTE;
use usnet_crds::EngineKind;
use usnet_dataplane::attachment::Record;
use usnet_dataplane::netlink::{Ethtool, Netlink, NetlinkError, PacketSockets};
use usnet_dataplane::port::{DeviceName, DeviceRole, PortBackend, TAGS_BESIDE_FRAMES, UNKNOWN_SEGMENTATION};

/// What tells whether a device leaves checksums to others.
const CHECKSUMS: &str = "tx-checksum-ip-generic";

/// Makes the kernel compute the checksums of all packets that are sent over a device with this
/// index, and put the tags of VLANs into those that a pod sends by AF_XDP.
pub(super) fn disable_offload(device: u32, role: DeviceRole, backend: &PortBackend) -> Result<(), NetlinkError> {
    let is_sent_by_af_xdp = role == DeviceRole::PodEndpoint && matches!(backend, PortBackend::AfXdp { .. });
    let tags = TAGS_BESIDE_FRAMES.iter().filter(|_| is_sent_by_af_xdp);
    let off: Vec<_> = role.offloads_off().iter().chain(tags).map(|offload| (*offload, false)).collect();
    Ethtool::open()?.set_features(device, &off)
}

/// The device on the node through which an attachment can leave checksums to its engine; none if it
/// never can. VPP reads it without what is left to do for a packet.
fn device(record: &Record) -> Option<&DeviceName> {
    match (&record.port.backend, record.engine) {
        (PortBackend::Device { device }, EngineKind::OpenVswitch) => Some(device),
        _ => None,
    }
}

/// Whether an attachment may leave checksums to its engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Granted,
    Refused,
    /// It may go on if it does.
    Unknown,
}

/// Has an attachment leave checksums to its engine if it may and the engine takes unfinished
/// packets from its device, as the packet sockets of the node say, and complete them itself if it
/// may not or the engine does not. While the engine does not read the device nothing is changed,
/// unless it may not. Returns what was changed, if anything.
///
/// # Errors
/// The pod's interface or its network namespace is gone, or the kernel refused.
pub fn follow(
    record: &Record,
    permission: Permission,
    sockets: &PacketSockets,
) -> Result<Option<bool>, InterfaceError> {
    let Some(device) = device(record) else { return Ok(None) };
    let name = device.as_str();
    let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("find", name))?;
    let Some(on_node) = link::find(&mut netlink, name).map_err(failed("find", name))? else { return Ok(None) };
    let is_read = sockets.bound.contains(&on_node.index);
    let is_left = match (permission, is_read && sockets.with_headers.contains(&on_node.index)) {
        (Permission::Granted, true) => true,
        (Permission::Refused, _) => false,
        (Permission::Granted | Permission::Unknown, false) if is_read => false,
        _ => return Ok(None),
    };
    // The engine's end first where packets may stay unfinished, and last where they may not.
    let own_end = || set(name, on_node.index, is_left);
    let changed = if is_left { own_end()? } else { false };
    let interface = record.id.interface.as_str();
    let in_pod = || {
        let mut netlink = Netlink::open(NETLINK_ROUTE).map_err(failed("find", interface))?;
        match link::find_other_end(&mut netlink, interface, on_node.index).map_err(failed("find", interface))? {
            Some(found) => set(interface, found.index, is_left),
            None => Ok(false),
        }
    };
    let changed = changed | PodNamespace::open(&record.network_namespace)?.within(in_pod)?;
    let changed = if is_left { changed } else { changed | own_end()? };
    Ok(changed.then_some(is_left))
}

/// Returns whether the device had another setting. It is in the network namespace of the thread.
fn set(name: &str, index: u32, is_left: bool) -> Result<bool, InterfaceError> {
    let action = "set checksum offload of";
    let mut ethtool = Ethtool::open().map_err(failed(action, name))?;
    let features = ethtool.features(index).map_err(failed(action, name))?;
    if features.active.contains(CHECKSUMS) == is_left {
        return Ok(false);
    }
    // While checksums are completed these are off by themselves.
    let others = UNKNOWN_SEGMENTATION.iter().filter(|_| is_left);
    let off = others.filter(|feature| features.active.contains(**feature)).map(|feature| (*feature, false));
    let changes: Vec<_> = off.chain([(CHECKSUMS, is_left)]).collect();
    ethtool.set_features(index, &changes).map_err(failed(action, name))?;
    Ok(true)
}
