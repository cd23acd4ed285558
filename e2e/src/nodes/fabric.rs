//! The network between the control plane and the nodes.

use std::process::Command;

use crate::host::command::{self, CommandError};
use crate::nodes::node::Node;
use crate::testbed::addresses;

/// Makes the bridge that nodes are plugged into, with the control plane's addresses on it.
///
/// # Errors
/// When `ip` refuses.
pub fn create() -> Result<(), CommandError> {
    let (address, service, prefix) =
        (addresses::CONTROL_PLANE, addresses::KUBERNETES_SERVICE, addresses::FABRIC_PREFIX);
    // kube-apiserver looks for the interface of the default route.
    let batch = format!(
        "link add fab0 type bridge\n\
         address add {address}/{prefix} dev fab0\n\
         address add {service}/32 dev fab0\n\
         link set fab0 up\n\
         route add default dev fab0\n"
    );
    command::run_with_input(Command::new("ip").args(["-batch", "-"]), &batch).map(drop)
}

/// Plugs a node in, with routes for the pods of all `nodes`.
///
/// # Errors
/// When `ip` refuses.
pub fn connect(node: &Node, nodes: u8) -> Result<(), CommandError> {
    let (name, address) = (node.name(), addresses::node(node.index()));
    let outside = format!(
        "link add {name} type veth peer name eth0 netns {}\n\
         link set {name} master fab0 up\n\
         route add {} via {address} dev fab0\n",
        node.process(),
        addresses::pods(node.index()),
    );
    command::run_with_input(Command::new("ip").args(["-batch", "-"]), &outside)?;
    let mut inside = format!(
        "link set lo up\n\
         address add {address}/{} dev eth0\n\
         link set eth0 up\n\
         route add default via {}\n",
        addresses::FABRIC_PREFIX,
        addresses::CONTROL_PLANE,
    );
    for other in (0..nodes).filter(|other| *other != node.index()) {
        inside.push_str(&format!("route add {} via {}\n", addresses::pods(other), addresses::node(other)));
    }
    command::run_with_input(node.command("ip").args(["-batch", "-"]), &inside).map(drop)
}
