//! Devices by AF_XDP, NICs and the ends of pods' veth pairs: the switch has a socket for each of
//! their queues, and the kernel receives what comes on others.

use crate::model::port::{DeviceName, PortBackend};
use usnet_crds::XdpMode;
use usnet_ovsdb::{Interface, Row, Value};

pub(super) const INTERFACE_TYPE: &str = "afxdp";
/// The option that says how the kernel hands frames to the switch.
const MODE_KEY: &str = "xdp-mode";

const MODES: [(XdpMode, &str); 4] = [
    (XdpMode::BestEffort, "best-effort"),
    (XdpMode::Generic, "generic"),
    (XdpMode::Native, "native"),
    (XdpMode::ZeroCopy, "native-with-zerocopy"),
];

/// Open vSwitch identifies the device by the name of its interface. Without a mode it has that of
/// the first one.
pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    let text = interface.options.get(MODE_KEY).map_or(name_of(XdpMode::default()), String::as_str);
    let (mode, _) = MODES.into_iter().find(|(_, name)| *name == text)?;
    Some(PortBackend::AfXdp { device: DeviceName::observed(&interface.name), mode })
}

/// The columns of an interface to create.
pub(super) fn row(mode: XdpMode) -> Row {
    Row::new().with("type", INTERFACE_TYPE).with("options", Value::map([(MODE_KEY, name_of(mode))]))
}

fn name_of(mode: XdpMode) -> &'static str {
    MODES.into_iter().find(|(found, _)| *found == mode).map_or("best-effort", |(_, name)| name)
}

/// The error of an interface: the reasons of drivers are in the log of the kernel alone.
pub(super) fn create_error(error: &str) -> String {
    format!(
        "{error}: the driver of the device has no AF_XDP in this mode, or not with the MTU of the device (see dmesg), or the switch may not load programs into the kernel (CAP_BPF, CAP_NET_ADMIN): use afxdp.mode: BestEffort, a smaller MTU, or veth.datapath: Kernel"
    )
}
