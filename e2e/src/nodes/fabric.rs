//! The networks that connect the nodes: `fab0`, on which they have their addresses, and `fab1`, a
//! plain Ethernet segment of their second NICs.

use std::path::Path;
use std::process::Command;

use crate::host::command::{self, CommandError};
use crate::nodes::node::Node;
use crate::testbed::addresses;

/// Creates the bridges to which nodes are connected: one with the control plane's addresses, and
/// one with a host outside of the cluster, which has a NIC `fab` and the network namespace of the
/// file `outside`. This file is not in `/run/netns`, because nodes, which are created later, would
/// list a mount there that they cannot see.
pub fn create(outside: &Path) -> Result<(), CommandError> {
    let (address, service, prefix) =
        (addresses::CONTROL_PLANE, addresses::KUBERNETES_SERVICE, addresses::FABRIC_PREFIX);
    // kube-apiserver needs the interface of a default route.
    let batch = format!(
        "link add fab0 type bridge\n\
         address add {address}/{prefix} dev fab0\n\
         address add {service}/32 dev fab0\n\
         link set fab0 up\n\
         route add default dev fab0\n\
         link add fab1 type bridge\n\
         link set fab1 up\n\
         link add outside type veth peer name fab netns {}\n\
         link set outside master fab1 up\n",
        outside.display(),
    );
    let script = r#"touch "$1" && exec unshare --net="$1" ip link set lo up"#;
    command::run(Command::new("sh").args(["-c", script, "-"]).arg(outside))?;
    command::run_with_input(Command::new("ip").args(["-batch", "-"]), &batch)?;
    let mut namespace = std::ffi::OsString::from("--net=");
    namespace.push(outside);
    command::run(Command::new("nsenter").arg(namespace).args(["ip", "link", "set", "fab", "up"])).map(drop)
}

/// Creates a tap device on the first bridge for a node that is a virtual machine, with a route for
/// its pods. It ends with the test bed.
pub(crate) fn create_tap(name: &str, index: u8) -> Result<(), CommandError> {
    let batch = format!(
        "tuntap add dev {name} mode tap\n\
         link set {name} master fab0 up\n\
         route add {} via {} dev fab0\n",
        addresses::pods(index),
        addresses::node(index),
    );
    command::run_with_input(Command::new("ip").args(["-batch", "-"]), &batch).map(drop)
}

/// Removes what [`create_tap`] created, once nothing uses it.
pub(crate) fn delete_tap(name: &str, index: u8) -> Result<(), CommandError> {
    let batch = format!("route del {} dev fab0\nlink del {name}\n", addresses::pods(index));
    command::run_with_input(Command::new("ip").args(["-batch", "-"]), &batch).map(drop)
}

/// Connects a node, with routes for the pods of all `nodes`. Its second NIC, `eth1`, has no
/// address.
pub fn connect(node: &Node, nodes: u8) -> Result<(), CommandError> {
    let (name, address, process) = (node.name(), addresses::node(node.index()), node.process());
    let outside = format!(
        "link add {name} type veth peer name eth0 netns {process}\n\
         link set {name} master fab0 up\n\
         route add {} via {address} dev fab0\n\
         link add {name}-1 type veth peer name eth1 netns {process}\n\
         link set {name}-1 master fab1 up\n",
        addresses::pods(node.index()),
    );
    command::run_with_input(Command::new("ip").args(["-batch", "-"]), &outside)?;
    let mut inside = format!(
        "link set lo up\n\
         address add {address}/{} dev eth0\n\
         link set eth0 up\n\
         link set eth1 up\n\
         route add default via {}\n",
        addresses::FABRIC_PREFIX,
        addresses::CONTROL_PLANE,
    );
    for other in (0..nodes).filter(|other| *other != node.index()) {
        inside.push_str(&format!("route add {} via {}\n", addresses::pods(other), addresses::node(other)));
    }
    command::run_with_input(node.command("ip").args(["-batch", "-"]), &inside).map(drop)
}
