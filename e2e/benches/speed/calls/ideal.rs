//! The least that a program with the plugin's promises can do (`e2e/ideal`), from exec to exit.

use super::Contestant;
use super::pod::Pod;
use crate::host::node::Node;
use crate::host::programs::{Programs, timed};
use std::process::Command;
use std::time::Duration;
use usnet_crds::EngineKind;

/// The program for a node: vhost-user on Open vSwitch, memif on VPP.
pub(crate) struct Ideal<'a> {
    programs: &'a Programs,
    node: &'a Node,
}

impl<'a> Ideal<'a> {
    pub(crate) const fn new(programs: &'a Programs, node: &'a Node) -> Self {
        Self { programs, node }
    }

    fn call(&self, verb: &str, number: usize) -> Duration {
        let (roots, pod) = (&self.node.roots, Pod::numbered(&self.node.roots, number));
        let engine = match self.node.engine {
            EngineKind::OpenVswitch => "ovs",
            EngineKind::Vpp => "vpp",
        };
        let mut command = Command::new(&self.programs.ideal);
        command.args([verb, engine]).arg(&roots.state).arg(&roots.run).arg(pod.volume(roots));
        command.arg(&self.node.socket).arg(self.node.network().bridge.name.as_str()).arg(&pod.container);
        timed(&mut command).0
    }
}

impl Contestant for Ideal<'_> {
    fn add(&self, number: usize) -> Duration {
        self.call("ADD", number)
    }

    fn del(&self, number: usize) -> Duration {
        self.call("DEL", number)
    }
}
