//! Vhost-user: an interface of DPDK that connects to the socket of a pod's program.

use crate::engine::ovs::qos::Shaper;
use crate::model::port::{PortBackend, SocketPath};
use std::collections::BTreeMap;
use std::path::PathBuf;
use usnet_crds::SocketRole;
use usnet_ovsdb::{Condition, Interface, Row, Value};

/// The type of such an interface.
pub(crate) const INTERFACE_TYPE: &str = "dpdkvhostuserclient";
/// The option with the path of the socket.
const PATH_KEY: &str = "vhost-server-path";

pub(super) const SHAPER: Shaper = Shaper::Policer;

/// Why Open vSwitch does not listen: its server ports are deprecated, and lose their peers when it
/// restarts.
pub(super) const NO_SERVER: &str =
    "Open vSwitch only connects to vhost-user sockets: use vhostUser.engineRole Client, or engine VPP";

pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    let path = interface.options.get(PATH_KEY)?;
    let socket = SocketPath::try_from(PathBuf::from(path)).ok()?;
    Some(PortBackend::VhostUser { socket, engine_role: SocketRole::Client })
}

/// Whether the pod's program is there.
pub(super) fn is_connected(status: &BTreeMap<String, String>) -> bool {
    status.get("status").is_some_and(|status| status == "connected")
}

/// The columns of an interface to create.
pub(super) fn row(socket: &SocketPath) -> Row {
    Row::new().with("type", INTERFACE_TYPE).with("options", options(socket))
}

/// Matches interfaces with this socket, which no second one may have: the switch would silently
/// serve only one of them.
pub(super) fn serves(socket: &SocketPath) -> Condition {
    Condition::includes("options", options(socket))
}

/// Whether an interface has this socket.
pub(super) fn is_serving(interface: &Interface, socket: &SocketPath) -> bool {
    interface.options.get(PATH_KEY).is_some_and(|path| socket.as_path().as_os_str() == path.as_str())
}

fn options(socket: &SocketPath) -> Value {
    Value::map([(PATH_KEY, socket.as_path().to_string_lossy().as_ref())])
}
