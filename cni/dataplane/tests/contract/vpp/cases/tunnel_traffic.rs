//! Frames through tunnels. A second VPP at the other end of the cable stands for two other nodes:
//! it has an address, a tunnel and a host for each.

use super::traffic::{FRAMES, received_by, send_from};
use super::tunnels::{Overlays, PEERS, VNI};
use super::uplinks::{WIRE, ip, plug_nic};
use crate::switch::Switch;
use crate::values::{Values, converge, port_name};
use crate::vpp::switch::VppSwitch;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_dataplane::desired::Desired;
use usnet_test_vpp::{Kind, Vpp};

const TIMEOUT: Duration = Duration::from_secs(20);
const VLAN: i64 = 10;
const BROADCAST: &str = "ffffffffffff0200000000010800";

/// The other nodes: a bridge domain for each, with its tunnel and a loopback that stands for a pod.
struct Nodes(Vpp);

impl Nodes {
    fn start(local: &str) -> Self {
        let nodes = Self(Vpp::start(Kind::Real).expect("there was one"));
        let on_wire = format!("host-{WIRE}.{VLAN}");
        nodes.run(&format!("create host-interface name {WIRE}"));
        nodes.run(&format!("create sub-interfaces host-{WIRE} {VLAN}"));
        for interface in [format!("host-{WIRE}"), on_wire.clone()] {
            nodes.run(&format!("set interface state {interface} up"));
        }
        for (number, peer) in PEERS.iter().enumerate() {
            nodes.run(&format!("set interface ip address {on_wire} {peer}/24"));
            nodes.run(&format!("create vxlan tunnel src {peer} dst {local} vni {VNI} instance {number}"));
            nodes.run(&format!("create loopback interface instance {number}"));
            nodes.run(&format!("set interface state loop{number} up"));
            for port in [format!("loop{number}"), format!("vxlan_tunnel{number}")] {
                nodes.run(&format!("set interface l2 bridge {port} {}", number + 1));
            }
        }
        nodes
    }

    fn run(&self, command: &str) {
        self.0.cli(command).unwrap_or_else(|error| panic!("{command}: {error}"));
    }

    /// What has arrived at each.
    fn received(&self) -> [u64; 2] {
        [0, 1].map(|number| received_by(&self.0, &format!("vxlan_tunnel{number}"), "rx packets"))
    }
}

struct Scene<'a> {
    switch: &'a VppSwitch,
    nodes: Nodes,
}

/// Who sends broadcasts.
enum Sender {
    Pod(&'static str),
    Node(usize),
}

impl<'a> Scene<'a> {
    /// VPP drops what it has no neighbour for yet, so that all of them are resolved before.
    fn start(switch: &'a VppSwitch) -> Self {
        let scene = Self { switch, nodes: Nodes::start("192.168.50.2") };
        let is_answered = |vpp: &Vpp, address: &str| {
            vpp.cli(&format!("ping {address} repeat 1")).is_ok_and(|answer| answer.contains("1 received"))
        };
        let end = Instant::now() + TIMEOUT;
        for peer in PEERS {
            while !is_answered(switch.vpp(), peer) || !is_answered(&scene.nodes.0, "192.168.50.2") {
                assert!(Instant::now() < end, "{peer} does not answer");
            }
        }
        scene
    }

    fn interface(&self, pod: &str) -> String {
        self.switch.other_client().interface(&port_name(pod)).interface_name.into_string()
    }

    /// Each sends its frames once; then exactly these have arrived at the pods of both networks,
    /// and at the other nodes.
    fn exchange(&self, senders: &[Sender], pods: [u64; 2], nodes: [u64; 2]) {
        for vpp in [self.switch.vpp(), &self.nodes.0] {
            vpp.cli("clear interfaces").expect("a command");
        }
        for sender in senders {
            match sender {
                Sender::Pod(pod) => send_from(self.switch.vpp(), &self.interface(pod), BROADCAST),
                Sender::Node(number) => send_from(&self.nodes.0, &format!("loop{number}"), BROADCAST),
            }
        }
        let counts = || {
            let at = ["blue", "red"].map(|pod| received_by(self.switch.vpp(), &self.interface(pod), "tx packets"));
            (at, self.nodes.received())
        };
        let end = Instant::now() + TIMEOUT;
        while counts() != (pods, nodes) && Instant::now() < end {
            sleep(Duration::from_millis(20));
        }
        assert_eq!(counts(), (pods, nodes));
    }

    /// What must not arrive was sent before what does.
    fn check(&self) {
        self.exchange(&[Sender::Pod("blue")], [0, 0], [FRAMES, FRAMES]);
        // Not from one node to the other.
        self.exchange(&[Sender::Node(0)], [FRAMES, 0], [0, 0]);
        self.exchange(&[Sender::Node(1), Sender::Pod("red"), Sender::Pod("blue")], [FRAMES, 0], [FRAMES, FRAMES]);
    }
}

/// Two networks with the same nodes, each with a pod of its name.
fn with_pods(switch: &VppSwitch, nic: u32) -> Desired {
    let mut overlays = Overlays::blue(nic, Some(VLAN));
    overlays.networks.push(("red", VNI + 1, PEERS.to_vec()));
    let desired = overlays.desired(switch);
    let networks: Vec<_> = desired.networks.values().cloned().collect();
    switch.with_pods(desired, networks.iter().map(|network| (network.name.as_str(), network.as_ref())))
}

pub(crate) fn frames_reach_all_nodes_of_their_network_once(switch: &mut VppSwitch) {
    let nic = plug_nic();
    converge(&mut switch.engine(), &with_pods(switch, nic));
    Scene::start(switch).check();

    // VPP lost everything.
    switch.kill();
    switch.restart();
    converge(&mut switch.engine(), &with_pods(switch, nic));
    Scene::start(switch).check();

    // Another NIC of the same name.
    ip(&format!("link del {WIRE}"));
    let nic = plug_nic();
    converge(&mut switch.engine(), &with_pods(switch, nic));
    Scene::start(switch).check();
}
