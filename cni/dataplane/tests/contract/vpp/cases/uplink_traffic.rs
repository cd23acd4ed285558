//! Frames over an uplink: each reaches its network and no other. A second VPP is at the other end
//! of the cable; both generate frames as if pods or hosts had sent them.

use super::traffic::{FRAMES, received_by, send_from};
use super::uplinks::{WIRE, desired, ip, plug_nic};
use crate::switch::Switch;
use crate::values::{Values, converge, port_name};
use crate::vpp::switch::VppSwitch;
use std::thread::sleep;
use std::time::{Duration, Instant};
use usnet_dataplane::desired::Desired;
use usnet_test_vpp::{Kind, Vpp};

const TIMEOUT: Duration = Duration::from_secs(20);
/// VLANs outside, of which no network has the last; 0 are untagged frames.
const VLANS: [u16; 4] = [0, 100, 200, 300];
const NETWORKS: [(&str, Option<i64>); 3] = [("blue", Some(100)), ("green", None), ("red", Some(200))];
/// The number of the outside's sub-interface for frames with a second tag in VLAN 100.
const TWO_TAGS: u16 = 1000;
/// Broadcasts without a tag, and with one.
const PLAIN: &str = "ffffffffffff0200000000010800";
const TAGGED: &str = "ffffffffffff020000000001810000c80800";

/// The switch outside: a bridge domain for each VLAN, with a loopback that stands for a host.
struct Outside(Vpp);

impl Outside {
    fn start() -> Self {
        let outside = Self(Vpp::start(Kind::Real).expect("there was one"));
        outside.run(&format!("create host-interface name {WIRE}"));
        outside.run(&format!("set interface state host-{WIRE} up"));
        outside.run(&format!("create sub-interfaces host-{WIRE} {TWO_TAGS} dot1q 100 inner-dot1q any"));
        outside.run(&format!("set interface state host-{WIRE}.{TWO_TAGS} up"));
        for vlan in VLANS {
            let on_wire = Self::on_wire(vlan);
            outside.run(&format!("create loopback interface instance {vlan}"));
            outside.run(&format!("set interface state loop{vlan} up"));
            if vlan != 0 {
                outside.run(&format!("create sub-interfaces host-{WIRE} {vlan}"));
                outside.run(&format!("set interface state {on_wire} up"));
            }
            for port in [format!("loop{vlan}"), on_wire.clone()] {
                outside.run(&format!("set interface l2 bridge {port} {}", vlan + 1));
            }
            if vlan != 0 {
                outside.run(&format!("set interface l2 tag-rewrite {on_wire} pop 1"));
            }
        }
        outside
    }

    fn on_wire(vlan: u16) -> String {
        if vlan == 0 { format!("host-{WIRE}") } else { format!("host-{WIRE}.{vlan}") }
    }

    fn run(&self, command: &str) {
        self.0.cli(command).unwrap_or_else(|error| panic!("{command}: {error}"));
    }

    /// What has arrived in each VLAN: of tagged frames by sub-interface, of untagged ones the rest.
    fn received(&self) -> [u64; 4] {
        let [all, rest @ ..] = VLANS.map(|vlan| received_by(&self.0, &Self::on_wire(vlan), "rx packets"));
        let [one, two, three] = rest;
        [all - one - two - three, one, two, three]
    }
}

struct Scene<'a> {
    switch: &'a VppSwitch,
    outside: Outside,
}

/// Who sends, and what.
enum Sender {
    Pod(&'static str, &'static str),
    Host(u16),
}

impl Scene<'_> {
    fn interface(&self, pod: &str) -> String {
        self.switch.other_client().interface(&port_name(pod)).interface_name.into_string()
    }

    /// Each sends its frames once; then exactly these have arrived at the pods of the networks, and
    /// outside in each VLAN.
    fn exchange(&self, senders: &[Sender], pods: [u64; 3], outside: [u64; 4]) {
        for vpp in [self.switch.vpp(), &self.outside.0] {
            vpp.cli("clear interfaces").expect("a command");
        }
        for sender in senders {
            match sender {
                Sender::Pod(pod, header) => send_from(self.switch.vpp(), &self.interface(pod), header),
                Sender::Host(vlan) => send_from(&self.outside.0, &format!("loop{vlan}"), PLAIN),
            }
        }
        let counts = || {
            let at = NETWORKS.map(|(pod, _)| received_by(self.switch.vpp(), &self.interface(pod), "tx packets"));
            (at, self.outside.received())
        };
        let end = Instant::now() + TIMEOUT;
        while counts() != (pods, outside) && Instant::now() < end {
            sleep(Duration::from_millis(20));
        }
        assert_eq!(counts(), (pods, outside));
    }

    fn check(&self) {
        self.exchange(&[Sender::Pod("blue", PLAIN)], [0, 0, 0], [0, FRAMES, 0, 0]);
        self.exchange(&[Sender::Pod("green", PLAIN)], [0, 0, 0], [FRAMES, 0, 0, 0]);
        self.exchange(&[Sender::Host(100)], [FRAMES, 0, 0], [0; 4]);
        self.exchange(&[Sender::Host(0)], [0, FRAMES, 0], [0; 4]);
        // What is dropped was sent before what arrives: into another VLAN by the pod without one,
        // and in a VLAN that no network has.
        let tagged = [Sender::Pod("green", TAGGED), Sender::Pod("red", PLAIN)];
        self.exchange(&tagged, [0, 0, 0], [0, 0, FRAMES, 0]);
        // With a second tag, in the VLAN of the pod.
        self.exchange(&[Sender::Pod("blue", TAGGED)], [0, 0, 0], [FRAMES, 0, 0, 0]);
        let in_vlan = format!("host-{WIRE}.{TWO_TAGS}");
        assert_eq!(received_by(&self.outside.0, &in_vlan, "rx packets"), FRAMES, "in another VLAN");
        self.exchange(&[Sender::Host(300), Sender::Host(200)], [0, 0, FRAMES], [0; 4]);
    }
}

/// The networks, each with a pod of its name.
fn with_pods(switch: &VppSwitch, index: u32) -> Desired {
    let desired = desired(switch, &NETWORKS, index);
    let networks: Vec<_> = desired.networks.values().cloned().collect();
    switch.with_pods(desired, networks.iter().map(|network| (network.name.as_str(), network.as_ref())))
}

pub(crate) fn frames_reach_their_network_and_no_other(switch: &mut VppSwitch) {
    let nic = plug_nic();
    converge(&mut switch.engine(), &with_pods(switch, nic));
    let scene = Scene { switch, outside: Outside::start() };
    scene.check();
    drop(scene);

    // VPP lost everything.
    switch.kill();
    switch.restart();
    converge(&mut switch.engine(), &with_pods(switch, nic));
    let scene = Scene { switch, outside: Outside::start() };
    scene.check();
    drop(scene);

    // Another NIC of the same name.
    ip(&format!("link del {WIRE}"));
    let nic = plug_nic();
    converge(&mut switch.engine(), &with_pods(switch, nic));
    let scene = Scene { switch, outside: Outside::start() };
    scene.check();
}
