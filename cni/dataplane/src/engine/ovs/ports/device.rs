//! Kernel devices: the end of a veth pair whose other end is the interface in the pod's network
//! namespace, the device of an overlay, or a NIC.

use crate::engine::ovs::qos::Shaper;
use crate::model::port::{DeviceName, PortBackend};
use std::collections::BTreeMap;
use usnet_ovsdb::{Interface, Row};

/// The interface type of kernel devices. None at all is the same, it is the default.
pub(super) const INTERFACE_TYPE: &str = "system";
const DEFAULT_TYPE: &str = "";
/// Devices that the switch creates: the local port of a bridge, and others of its kind.
const LOCAL_TYPES: [&str; 2] = ["internal", "tap"];

pub(super) const SHAPER: Shaper = Shaper::Queue;

/// Open vSwitch identifies a device by the name of its port.
pub(super) const OTHER_NAME: &str =
    "the name of the device differs from that of its port; this is a defect of usnet, please report it";

pub(super) fn is_type(interface_type: &str) -> bool {
    [DEFAULT_TYPE, INTERFACE_TYPE].contains(&interface_type)
}

/// Whether the switch creates the device.
pub(super) fn is_local(interface_type: &str) -> bool {
    LOCAL_TYPES.contains(&interface_type)
}

pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    Some(PortBackend::Device { device: DeviceName::observed(&interface.name) })
}

/// Whether the device is there.
pub(super) fn is_connected(status: &BTreeMap<String, String>) -> bool {
    status.contains_key("driver_name")
}

/// The columns of an interface to create.
pub(super) fn row() -> Row {
    Row::new().with("type", INTERFACE_TYPE)
}
