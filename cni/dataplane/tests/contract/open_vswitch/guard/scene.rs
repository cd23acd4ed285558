//! A bridge with `fail_mode=secure` and the ports of three pods, of which `a` sends and the others
//! receive. The devices of the pods are in the namespace of the switch.

use super::frames::{self, Frame};
use crate::open_vswitch::packet_threads::FramesBy;
use crate::open_vswitch::{Daemons, TIMEOUT, vsctl};
use nix::sched::{CloneFlags, setns};
use smoltcp::phy::{Device as _, Medium, RawSocket, RxToken as _, TxToken as _};
use smoltcp::time::Instant as Now;
use std::collections::BTreeSet;
use std::fs::File;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use usnet_dataplane::ovs::guard::{self, AntiSpoofing, GuardedPort};
use usnet_openflow::flow::Flow;
use usnet_openflow::{Connection, FlowFilter, FlowMod, InstalledFlow, PortNumber};

pub(super) const BRIDGE: &str = "br-guard";
const PODS: [&str; 3] = ["a", "b", "c"];

pub(super) struct Scene {
    pub(super) daemons: Daemons,
    sender: RawSocket,
    receivers: [RawSocket; 2],
    /// The number of the last own broadcast.
    broadcasts: u32,
    frames_by: FramesBy,
}

/// Runs a case in the namespace of a new switch, which only its thread enters.
pub(super) fn run(case: impl FnOnce(&mut Scene) + Send) {
    run_by(FramesBy::MainThread, case);
}

/// The same on a switch that has the frames of its ports in this way.
pub(super) fn run_by(frames_by: FramesBy, case: impl FnOnce(&mut Scene) + Send) {
    let result = std::thread::scope(|scope| scope.spawn(|| case(&mut Scene::new(frames_by))).join());
    result.unwrap_or_else(|panic| resume_unwind(panic));
}

/// The device of a pod in its namespace.
pub(super) fn device(pod: &str) -> String {
    format!("pod-{pod}")
}

/// The port of a pod.
pub(super) fn port_of(pod: &str) -> String {
    format!("port-{pod}")
}

impl Scene {
    fn new(frames_by: FramesBy) -> Self {
        let daemons = frames_by.daemons();
        let mut script = format!("add-br {BRIDGE} -- set Bridge {BRIDGE} datapath_type=netdev fail_mode=secure");
        // The kernel would send frames of its own.
        let mut commands =
            vec!["sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1".into()];
        for pod in PODS {
            let (device, port) = (device(pod), port_of(pod));
            commands.push(format!("ip link add {port} type veth peer name {device}"));
            commands.push(format!("ip link set {port} up"));
            commands.push(format!("ip link set {device} up"));
            script.push_str(&format!(" -- add-port {BRIDGE} {port}"));
            script.push_str(&frames_by.interface(&port));
        }
        for command in commands {
            let mut words = command.split(' ');
            let status = daemons.command(words.next().expect("a program")).args(words).status();
            assert!(status.expect("a program").success(), "{command}");
        }
        vsctl(&daemons, &script);
        frames_by.assert_poll(&daemons);
        setns(File::open(daemons.network_namespace()).expect("a namespace"), CloneFlags::CLONE_NEWNET)
            .expect("entered");
        let [sender, b, c] = PODS.map(|pod| RawSocket::new(&device(pod), Medium::Ethernet).expect("a packet socket"));
        Self { daemons, sender, receivers: [b, c], broadcasts: 0, frames_by }
    }

    pub(super) fn management(&self) -> PathBuf {
        usnet_openflow::socket(self.daemons.folder(), BRIDGE)
    }

    pub(super) fn connect(&self) -> Connection {
        Connection::open(&self.management(), TIMEOUT).expect("a bridge")
    }

    pub(super) fn number(&self, name: &str) -> PortNumber {
        let ports = self.connect().ports().expect("ports");
        ports.into_iter().find(|port| port.name == name).expect(name).number
    }

    /// The port of pod a, as static IPAM has it.
    pub(super) fn guarded(&self, anti_spoofing: AntiSpoofing) -> GuardedPort {
        GuardedPort {
            number: self.number(&port_of("a")),
            anti_spoofing,
            mac: "02:00:00:00:00:0a".parse().expect("an address"),
            addresses: ["10.9.0.10", "fd09::a"].map(|text| text.parse().expect("an address")).to_vec(),
            pairs: Vec::new(),
            is_trunk: false,
            uses_dhcp: false,
        }
    }

    /// Which flows the ports have, if a is guarded so and the others are trusted.
    pub(super) fn desired(&self, port: &GuardedPort) -> Vec<Flow> {
        let others = ["b", "c"].map(|pod| guard::trusted(self.number(&port_of(pod))));
        [guard::flows(port), others.concat()].concat()
    }

    pub(super) fn guard(&self, port: &GuardedPort) {
        let mut changes = guard::replacement(port.number, Vec::new());
        changes.extend(self.desired(port).into_iter().map(FlowMod::Add));
        let mut connection = self.connect();
        connection.match_carried_fragments();
        connection.commit(&changes).expect("flows");
        // For kinds of frames that were just forwarded, the switch uses the flows before for some
        // milliseconds.
        self.daemons.appctl(&["revalidator/wait"]).expect("ovs-appctl");
    }

    pub(super) fn installed(&self) -> Vec<InstalledFlow> {
        self.connect().flows(&FlowFilter::default()).expect("flows")
    }

    pub(super) fn send(&mut self, frame: &Frame) {
        let token = self.sender.transmit(Now::now()).expect("always");
        token.consume(frame.bytes.len(), |buffer| buffer.copy_from_slice(&frame.bytes));
    }

    /// What arrived at either of the other pods since the last call, without VLAN tags.
    fn received(&mut self) -> [Vec<Vec<u8>>; 2] {
        self.receivers.each_mut().map(|socket| {
            let mut received = Vec::new();
            while let Some((token, _)) = socket.receive(Now::now()) {
                received.push(token.consume(frames::untagged));
            }
            received
        })
    }

    /// Sends own broadcasts until one has arrived at both other pods: what was sent before has
    /// arrived by then, because a switch without packet threads forwards in order. Returns all that
    /// arrived at either.
    pub(super) fn settle(&mut self) -> [BTreeSet<Vec<u8>>; 2] {
        let end = Instant::now() + TIMEOUT;
        let mut all = [BTreeSet::new(), BTreeSet::new()];
        let mut own = BTreeSet::new();
        while Instant::now() < end {
            self.broadcasts += 1;
            let frame = frames::own_broadcast(self.broadcasts);
            own.insert(frame.bytes.clone());
            self.send(&frame);
            let patience = Instant::now() + Duration::from_millis(200);
            while Instant::now() < patience {
                self.received().into_iter().zip(&mut all).for_each(|(frames, all)| all.extend(frames));
                if all.iter().all(|all| all.contains(&frame.bytes)) {
                    self.frames_by.wait_for_others();
                    self.received().into_iter().zip(&mut all).for_each(|(frames, all)| all.extend(frames));
                    return all.map(|all| &all - &own);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        panic!("an own frame does not arrive at both: {:?}", self.installed());
    }

    /// Sends frames, and returns the names of those that arrived at either of the other pods.
    pub(super) fn arrived(&mut self, sent: &[Frame]) -> [BTreeSet<&'static str>; 2] {
        self.received();
        for frame in sent {
            self.send(frame);
        }
        let received = self.settle();
        received.map(|received| {
            let has_arrived = |frame: &&Frame| received.contains(&frames::untagged(&frame.bytes));
            sent.iter().filter(has_arrived).map(|frame| frame.name).collect()
        })
    }
}
