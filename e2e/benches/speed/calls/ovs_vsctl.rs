//! By hand on Open vSwitch: `ovs-vsctl`, which waits for the switch, and `ip` for a veth.

use super::Contestant;
use super::device;
use super::kind::PortKind;
use crate::host::node::Node;
use crate::host::programs::timed;
use std::process::Command;
use std::time::Duration;

/// A person, or a script.
pub(crate) struct OvsVsctl<'a> {
    node: &'a Node,
    kind: &'a PortKind,
}

impl<'a> OvsVsctl<'a> {
    pub(crate) fn new(node: &'a Node, kind: &'a PortKind) -> Self {
        Self { node, kind }
    }

    fn vsctl(&self, arguments: &[&str]) -> Duration {
        let mut command = Command::new("ovs-vsctl");
        timed(command.arg(format!("--db=unix:{}", self.node.socket.display())).args(arguments)).0
    }

    fn bridge(&self) -> String {
        self.node.network().bridge.name.to_string()
    }
}

impl Contestant for OvsVsctl<'_> {
    fn add(&self, number: usize) -> Duration {
        let (name, bridge) = (format!("hand{number}"), self.bridge());
        let add_port = ["add-port", &bridge, &name];
        if !self.kind.is_veth() {
            let socket = self.node.folder.join(format!("{name}.sock"));
            let path = format!("options:vhost-server-path={}", socket.display());
            let interface = ["--", "set", "Interface", &name, "type=dpdkvhostuserclient", &path];
            return self.vsctl(&[&add_port[..], &interface].concat());
        }
        device::create_by_hand(&name, number) + self.vsctl(&add_port)
    }

    fn del(&self, number: usize) -> Duration {
        let name = format!("hand{number}");
        let removed = self.vsctl(&["del-port", &self.bridge(), &name]);
        if self.kind.is_veth() { removed + device::remove_by_hand(&name) } else { removed }
    }
}
