//! By hand on VPP: `vppctl`, a process for each command, and `ip` for a veth.

use super::Contestant;
use super::device;
use super::kind::PortKind;
use crate::host::namespaces;
use crate::host::node::Node;
use crate::host::programs::timed;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use usnet_crds::{MemifSocketKind, PortType, SocketRole};

/// A person, or a script.
pub(crate) struct Vppctl<'a> {
    node: &'a Node,
    kind: &'a PortKind,
    program: PathBuf,
    interfaces: Mutex<BTreeMap<usize, String>>,
}

impl<'a> Vppctl<'a> {
    /// None without a real VPP: the simulator has no command line.
    pub(crate) fn new(node: &'a Node, kind: &'a PortKind) -> Option<Self> {
        let program = usnet_test_vpp::program()?.with_file_name("vppctl");
        program.is_file().then(|| Self { node, kind, program, interfaces: Mutex::default() })
    }

    fn command(&self, text: &str) -> (Duration, String) {
        let mut command = Command::new(&self.program);
        let (took, output) = timed(command.arg("-s").arg(self.node.folder.join("cli.sock")).args(text.split(' ')));
        assert!(!output.contains("error") && !output.contains("unknown"), "{text}: {output}");
        (took, output)
    }

    fn create(&self, number: usize) -> (Duration, String) {
        let file = self.node.folder.join(format!("hand{number}.sock")).display().to_string();
        match self.kind.port.port_type {
            PortType::Memif => {
                let id = 100_000 + number;
                let name = match self.kind.port.memif.socket {
                    MemifSocketKind::Abstract => {
                        let namespace = namespaces::of_pod(number);
                        format!("abstract:hand{number},netns_name={}", namespace.display())
                    }
                    MemifSocketKind::Volume => file,
                };
                let (socket, _) = self.command(&format!("create memif socket id {id} filename {name}"));
                let (took, _) = self.command(&format!("create interface memif id 0 socket-id {id} master"));
                (socket + took, format!("memif{id}/0"))
            }
            PortType::VhostUser => {
                let server = if self.kind.port.vhost_user.engine_role == SocketRole::Server { " server" } else { "" };
                let (took, name) = self.command(&format!("create vhost-user socket {file}{server}"));
                (took, name.trim().to_owned())
            }
            _ => {
                let device = format!("hand{number}");
                let took = device::create_by_hand(&device, number);
                let (created, name) = self.command(&format!("create host-interface name {device}"));
                (took + created, name.trim().to_owned())
            }
        }
    }
}

impl Contestant for Vppctl<'_> {
    fn add(&self, number: usize) -> Duration {
        let (mut took, name) = self.create(number);
        let domain = self.node.network().bridge.name;
        took += self.command(&format!("set interface l2 bridge {name} {domain}")).0;
        took += self.command(&format!("set interface state {name} up")).0;
        self.interfaces.lock().expect("no thread panicked").insert(number, name);
        took
    }

    fn del(&self, number: usize) -> Duration {
        let name = self.interfaces.lock().expect("no thread panicked").remove(&number).expect("it was created");
        match self.kind.port.port_type {
            PortType::Memif => {
                let deleted = self.command(&format!("delete interface memif {name}")).0;
                deleted + self.command(&format!("delete memif socket id {}", 100_000 + number)).0
            }
            PortType::VhostUser => self.command(&format!("delete vhost-user {name}")).0,
            _ => {
                let deleted = self.command(&format!("delete host-interface name hand{number}")).0;
                deleted + device::remove_by_hand(&format!("hand{number}"))
            }
        }
    }
}
