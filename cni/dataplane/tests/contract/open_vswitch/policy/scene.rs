//! A bridge with `fail_mode=secure`, the ports of the pods `a`, `b` and `c`, and the port `u` of
//! what is outside. The devices of all are in the namespace of the switch.

use super::packets::{BROADCAST, Ends};
use crate::open_vswitch::packet_threads::FramesBy;
use crate::open_vswitch::{Daemons, TIMEOUT, vsctl};
use nix::sched::{CloneFlags, setns};
use smoltcp::phy::{Device as _, Medium, RawSocket, RxToken as _, TxToken as _};
use smoltcp::time::Instant as Now;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use usnet_crds::policy::Policy;
use usnet_crds::policy::pods::{PodAddresses, PodClass};
use usnet_dataplane::ovs::generation;
use usnet_dataplane::ovs::guard::{self, AntiSpoofing, GuardedPort};
use usnet_dataplane::ovs::policy::{BridgePolicies, CHECK, PolicyFlows, PolicyPort, PolicyPortState, compile};
use usnet_openflow::{Change, Connection, FlowMod, GroupMod, PortNumber, forwarding};

pub(super) const BRIDGE: &str = "br-policy";
pub(super) const ZONE: u16 = 65_000;
/// How often a frame is sent before it counts as one that does not arrive.
const ATTEMPTS: u32 = 3;
/// The pods with their namespaces; what is outside has none.
pub(super) const ENDS: [&str; 4] = ["a", "b", "c", "u"];

pub(super) struct Scene {
    pub(super) daemons: Daemons,
    sockets: BTreeMap<&'static str, RawSocket>,
    pub(super) numbers: BTreeMap<&'static str, PortNumber>,
    /// The number of the last request of ARP.
    requests: u32,
    pub(super) closed: BTreeSet<String>,
    frames_by: FramesBy,
    /// The classes of pods, and of what is outside, which is taken for a pod of another node.
    pub(super) classes: BTreeMap<&'static str, Arc<PodClass>>,
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

fn place(end: &str) -> u8 {
    u8::try_from(ENDS.iter().position(|name| *name == end).expect(end)).expect("few") + 10
}

pub(super) fn mac(end: &str) -> [u8; 6] {
    [2, 0, 0, 0, 0, place(end)]
}

/// The addresses of an end.
pub(super) fn address(end: &str, is_ipv4: bool) -> IpAddr {
    let last = place(end);
    if is_ipv4 {
        Ipv4Addr::new(10, 9, 0, last).into()
    } else {
        Ipv6Addr::new(0xfd09, 0, 0, 0, 0, 0, 0, last.into()).into()
    }
}

pub(super) fn ends(from: &str, to: &str, is_ipv4: bool) -> Ends {
    Ends { macs: [mac(from), mac(to)], addresses: [from, to].map(|end| address(end, is_ipv4)) }
}

impl Scene {
    fn new(frames_by: FramesBy) -> Self {
        let daemons = frames_by.daemons();
        let mut script = format!("add-br {BRIDGE} -- set Bridge {BRIDGE} datapath_type=netdev fail_mode=secure");
        // The kernel would send frames of its own.
        let mut commands =
            vec!["sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1".to_owned()];
        for end in ENDS {
            commands.push(format!("ip link add port-{end} type veth peer name end-{end}"));
            commands.push(format!("ip link set port-{end} up"));
            commands.push(format!("ip link set end-{end} up"));
            let number = place(end);
            script.push_str(&format!(" -- add-port {BRIDGE} port-{end}"));
            script.push_str(&format!(" -- set Interface port-{end} ofport_request={number}"));
            script.push_str(&frames_by.interface(&format!("port-{end}")));
        }
        for command in commands {
            let mut words = command.split(' ');
            let status = daemons.command(words.next().expect("a program")).args(words).status();
            assert!(status.expect("a program").success(), "{command}");
        }
        vsctl(&daemons, &script);
        setns(File::open(daemons.network_namespace()).expect("a namespace"), CloneFlags::CLONE_NEWNET)
            .expect("entered");
        let socket = |end| (end, RawSocket::new(&format!("end-{end}"), Medium::Ethernet).expect("a packet socket"));
        let sockets = ENDS.map(socket).into();
        let class = |end: &'static str| (end, Arc::new(PodClass::of_namespace(end.parse().expect("a namespace"))));
        let (closed, classes) = (BTreeSet::new(), ENDS.map(class).into());
        let mut scene = Self { daemons, sockets, numbers: BTreeMap::new(), requests: 0, closed, frames_by, classes };
        let ports = scene.connect().ports().expect("ports");
        let number = |end| ports.iter().find(|port| port.name == format!("port-{end}")).expect("a port").number;
        scene.numbers = ENDS.map(|end| (end, number(end))).into();
        frames_by.assert_poll(&scene.daemons);
        scene
    }

    pub(super) fn management(&self) -> PathBuf {
        usnet_openflow::socket(self.daemons.folder(), BRIDGE)
    }

    pub(super) fn connect(&self) -> Connection {
        Connection::open(&self.management(), TIMEOUT).expect("a bridge")
    }

    /// The flows of policies, for pods of namespaces of their names.
    pub(super) fn desired(&self, policies: &[Policy], closed: &[&str]) -> PolicyFlows {
        let state = |end: &str| {
            if closed.contains(&end) {
                PolicyPortState::Closed
            } else {
                PolicyPortState::OfClass(self.classes[end].clone())
            }
        };
        let port = |end: &&str| PolicyPort { mac: mac_text(end), virtual_macs: BTreeSet::new(), state: state(end) };
        let ports = ENDS[..3].iter().map(|end| (self.numbers[end], port(end))).collect();
        let policies = &Arc::from(policies);
        let (ports, peers) = (&Arc::new(ports), &Arc::new(self.peers()));
        compile(&BridgePolicies { zone: ZONE, policies, ports, peers }).expect("few")
    }

    /// The classes of all addresses.
    pub(super) fn peers(&self) -> PodAddresses {
        let of_end = |(end, class): (&&str, &Arc<PodClass>)| {
            [true, false].map(|is_ipv4| (address(end, is_ipv4), Arc::clone(class)))
        };
        PodAddresses(self.classes.iter().flat_map(of_end).collect())
    }

    /// Has the bridge have these policies, and guards of its pods.
    pub(super) fn enforce(&mut self, policies: &[Policy], closed: &[&str]) {
        self.closed = closed.iter().copied().map(str::to_owned).collect();
        let PolicyFlows { flows, groups, unflooded } = self.desired(policies, closed);
        let flooding = self.numbers.values().map(|number| (*number, !unflooded.contains(number))).collect();
        forwarding::set_flooding(&self.management(), TIMEOUT, &flooding).expect("ports");
        let guards = ENDS[..3].iter().flat_map(|end| guard::flows_with(&self.guarded(end), &CHECK));
        let outside = guard::trusted_with(self.numbers["u"], &CHECK);
        let mut changes: Vec<Change> = groups.into_iter().map(|group| Change::Group(GroupMod::Set(group))).collect();
        changes.push(Change::Flow(FlowMod::Delete(usnet_openflow::flow::Match::default())));
        changes.extend(guards.chain(outside).chain(flows).map(|flow| Change::Flow(FlowMod::Add(flow))));
        changes.extend(generation::renewal().into_iter().map(Change::Flow));
        let mut connection = self.connect();
        connection.match_carried_fragments();
        connection.commit_all(&changes).expect("flows");
        self.settle_flows();
    }

    /// For kinds of frames that were just forwarded, the switch uses the flows before for some
    /// milliseconds: waits until it has compared all of them with the flows of now.
    pub(super) fn settle_flows(&self) {
        self.daemons.appctl(&["revalidator/wait"]).expect("ovs-appctl");
    }

    fn guarded(&self, end: &str) -> GuardedPort {
        GuardedPort {
            number: self.numbers[end],
            anti_spoofing: AntiSpoofing::Address,
            mac: mac_text(end),
            addresses: [true, false].map(|is_ipv4| address(end, is_ipv4)).to_vec(),
            pairs: Vec::new(),
            is_trunk: false,
            uses_dhcp: false,
        }
    }

    pub(super) fn forget_connections(&self) {
        self.daemons.appctl(&["dpctl/flush-conntrack"]).expect("ovs-appctl");
    }

    pub(super) fn send(&mut self, from: &str, frame: &[u8]) {
        let token = self.sockets.get_mut(from).expect(from).transmit(Now::now()).expect("always");
        token.consume(frame.len(), |buffer| buffer.copy_from_slice(frame));
    }

    /// Sends frames of an end, and returns those that arrive at each other one, by their places.
    pub(super) fn arrived(&mut self, from: &'static str, sent: &[Vec<u8>]) -> BTreeMap<&'static str, BTreeSet<usize>> {
        self.received();
        for frame in sent {
            self.send(from, frame);
        }
        let all = self.settle(from);
        let places = |frames: &[Vec<u8>]| (0..sent.len()).filter(|place| frames.contains(&sent[*place])).collect();
        all.iter().filter(|(end, _)| **end != from).map(|(end, frames)| (*end, places(frames))).collect()
    }

    /// Returns all that arrives before a request of ARP of this end, which reaches all others that
    /// are not closed: a switch without packet threads forwards in order.
    pub(super) fn settle(&mut self, from: &'static str) -> BTreeMap<&'static str, Vec<Vec<u8>>> {
        let mut all: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
        let end = Instant::now() + TIMEOUT;
        while Instant::now() < end {
            self.requests += 1;
            let request = ends(from, "u", true).to_mac(BROADCAST).arp(self.requests);
            self.send(from, &request);
            let patience = Instant::now() + Duration::from_millis(200);
            while Instant::now() < patience {
                self.received().into_iter().for_each(|(end, frames)| all.entry(end).or_default().extend(frames));
                let is_awaited = |end: &&&str| **end != from && !self.closed.contains(**end);
                let has_it = |end: &&str| all.get(end).is_some_and(|all| all.contains(&request));
                if ENDS.iter().filter(is_awaited).all(has_it) {
                    self.frames_by.wait_for_others();
                    self.received().into_iter().for_each(|(end, more)| all.entry(end).or_default().extend(more));
                    return all;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        panic!("a request of ARP does not arrive at all: {all:?}");
    }

    /// What arrived since the last call.
    fn received(&mut self) -> BTreeMap<&'static str, Vec<Vec<u8>>> {
        let receive = |(end, socket): (&&'static str, &mut RawSocket)| {
            let mut received = Vec::new();
            while let Some((token, _)) = socket.receive(Now::now()) {
                received.push(token.consume(<[u8]>::to_vec));
            }
            (*end, received)
        };
        self.sockets.iter_mut().map(receive).collect()
    }

    /// Whether a frame arrives at an end that it has not reached: on a busy machine some are lost.
    pub(super) fn arrives_again(&mut self, from: &'static str, to: &str, frame: &[u8]) -> bool {
        (1..ATTEMPTS).any(|_| self.arrived(from, &[frame.to_vec()])[to].contains(&0))
    }

    /// Whether a frame arrives at an end, and at no other one.
    pub(super) fn reaches(&mut self, from: &'static str, to: &str, frame: Vec<u8>) -> bool {
        let frame = [frame];
        (0..ATTEMPTS).any(|_| {
            let arrived = self.arrived(from, &frame);
            let at: Vec<&str> = arrived.iter().filter(|(_, places)| !places.is_empty()).map(|(end, _)| *end).collect();
            assert!(at.is_empty() || at == [to], "{from} to {to}: at {at:?}");
            !at.is_empty()
        })
    }
}

pub(super) fn mac_text(end: &str) -> usnet_crds::MacAddress {
    mac(end).map(|octet| format!("{octet:02x}")).join(":").parse().expect("a MAC address")
}
