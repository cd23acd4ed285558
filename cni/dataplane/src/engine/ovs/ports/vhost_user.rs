//! Vhost-user: an interface of DPDK that connects to the socket of a pod's program, or listens for
//! it.

use crate::engine::ovs::qos::Shaper;
use crate::engine::ovs::tags::SOCKET_KEY;
use crate::model::port::{PortBackend, SocketPath};
use std::collections::BTreeMap;
use std::path::PathBuf;
use usnet_crds::SocketRole;
use usnet_ovsdb::{Condition, Interface, Row, Value};

/// The type of an interface that connects.
pub(crate) const INTERFACE_TYPE: &str = "dpdkvhostuserclient";
/// The type of an interface that listens, at a place that follows from its name. Its tag has the
/// place at which the pod finds the socket.
pub(crate) const SERVER_TYPE: &str = "dpdkvhostuser";
/// The option with the path of the socket.
const PATH_KEY: &str = "vhost-server-path";

pub(super) const SHAPER: Shaper = Shaper::Policer;

pub(super) fn backend(interface: &Interface) -> Option<PortBackend> {
    let (path, engine_role) = match interface.interface_type.as_str() {
        SERVER_TYPE => (interface.external_ids.get(SOCKET_KEY)?, SocketRole::Server),
        _ => (interface.options.get(PATH_KEY)?, SocketRole::Client),
    };
    let socket = SocketPath::try_from(PathBuf::from(path)).ok()?;
    Some(PortBackend::VhostUser { socket, engine_role })
}

/// Whether the pod's program is there.
pub(super) fn is_connected(status: &BTreeMap<String, String>) -> bool {
    status.get("status").is_some_and(|status| status == "connected")
}

/// The columns of an interface to create.
pub(super) fn row(socket: &SocketPath, role: SocketRole) -> Row {
    match role {
        SocketRole::Client => Row::new().with("type", INTERFACE_TYPE).with("options", path(PATH_KEY, socket)),
        SocketRole::Server => Row::new().with("type", SERVER_TYPE).with("external_ids", path(SOCKET_KEY, socket)),
    }
}

/// Matches interfaces with this socket, which no second one may have: the switch would silently
/// serve only one of them.
pub(super) fn serves(socket: &SocketPath, role: SocketRole) -> Condition {
    match role {
        SocketRole::Client => Condition::includes("options", path(PATH_KEY, socket)),
        SocketRole::Server => Condition::includes("external_ids", path(SOCKET_KEY, socket)),
    }
}

/// Whether an interface has this socket.
pub(super) fn is_serving(interface: &Interface, socket: &SocketPath) -> bool {
    matches!(backend(interface), Some(PortBackend::VhostUser { socket: found, .. }) if found == *socket)
}

fn path(key: &str, socket: &SocketPath) -> Value {
    Value::map([(key, socket.as_path().to_string_lossy().as_ref())])
}
