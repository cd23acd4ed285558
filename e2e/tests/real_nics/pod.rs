//! Pods: network namespaces that the plugin is called for, with addresses of their own.

use crate::bed::{Bed, run};
use std::net::IpAddr;
use usnet_e2e::machines::machine::Machine;

pub(crate) struct Pod<'a> {
    pub(crate) machine: &'a Machine,
    /// The name of its network namespace.
    pub(crate) name: String,
    pub(crate) ipv4: IpAddr,
    pub(crate) ipv6: IpAddr,
}

impl<'a> Pod<'a> {
    /// Attaches a pod to a network. The number is in its addresses; pods of one number on both
    /// nodes are in one subnet. Their names differ, because MAC addresses follow from them.
    pub(crate) fn attach(bed: &'a Bed, machine: &'a Machine, network: &str, number: u8) -> Self {
        let pod = Self::with_addresses(machine, &format!("{network}-{}", machine.name()), number, bed);
        run(machine, &format!("/machine/node pod ADD {} {network} {}", pod.name, bed.program("userspace")));
        pod.configure("net1");
        pod
    }

    pub(crate) fn detach(&self, bed: &Bed, network: &str) {
        run(self.machine, &format!("/machine/node pod DEL {} {network} {}", self.name, bed.program("userspace")));
    }

    pub(crate) fn with_addresses(machine: &'a Machine, name: &str, number: u8, bed: &Bed) -> Self {
        let host = if std::ptr::eq(machine, &raw const bed.pair.left) { 1 } else { 2 };
        let ipv4 = format!("10.142.{number}.{host}").parse().unwrap();
        let ipv6 = format!("fd00:142:{number}::{host}").parse().unwrap();
        Self { machine, name: name.to_owned(), ipv4, ipv6 }
    }

    /// Gives its device the addresses.
    pub(crate) fn configure(&self, device: &str) {
        let Self { machine, name, ipv4, ipv6 } = self;
        run(
            machine,
            &format!(
                "ip -n {name} address add {ipv4}/24 dev {device} && ip -n {name} address add {ipv6}/64 dev {device} nodad \
                 && ip -n {name} link set {device} up"
            ),
        );
    }

    /// A command in its network namespace, as a script.
    pub(crate) fn command(&self, command: &str) -> String {
        format!("exec ip netns exec {} {command}", self.name)
    }
}
