//! What differs between the engines, and what is done to one of them under a guest.

use crate::support::cluster::{run, vsctl};
use crate::support::faults::programs::await_socket;
use crate::support::vpp;
use k8s_openapi::jiff::Timestamp;
use std::thread;
use usnet_vpp::messages::DeleteVhostUserIf;

/// An engine of the nodes.
#[derive(Clone, Copy)]
pub(super) struct Engine {
    /// Returns the name of the engine in networks.
    pub(super) name: &'static str,
    /// The program that moves packets.
    pub(super) program: &'static str,
    /// The network of its test.
    pub(super) network: &'static str,
}

pub(super) const OPEN_VSWITCH: Engine = Engine { name: "OVS", program: "ovs-vswitchd", network: "vm-ovs" };
pub(super) const VPP: Engine = Engine { name: "VPP", program: "vpp", network: "vm-vpp" };

impl Engine {
    /// Kills the engine of a node.
    pub(super) fn stop(self, node: &str) {
        run("component", &["stop", self.program, node]);
    }

    /// Starts it, and says when it served.
    pub(super) fn start(self, node: &'static str) -> Timestamp {
        let starter = thread::spawn(move || run("component", &["start", self.program, node]));
        await_socket(self.program, node);
        let served = Timestamp::now();
        starter.join().unwrap();
        served
    }

    /// Removes all ports of guests from a node's engine, as its administrator might.
    #[track_caller]
    pub(super) fn remove_ports(self, node: &str) {
        if self.name == "VPP" {
            let ports = vpp::ports(node, self.network).unwrap();
            let guests: Vec<_> = ports.iter().filter(|port| port.name.starts_with("VirtualEthernet")).collect();
            assert!(!guests.is_empty(), "{ports:?}");
            for port in guests {
                vpp::request(node, DeleteVhostUserIf { sw_if_index: port.sw_if_index }).unwrap();
            }
            return;
        }
        let ports = vsctl(node, &["list-ports", &format!("br-{}", self.network)]);
        let guests: Vec<&str> = ports.lines().filter(|port| port.starts_with("vhu")).collect();
        assert!(!guests.is_empty(), "{ports}");
        guests.iter().for_each(|port| drop(vsctl(node, &["del-port", port])));
    }
}
