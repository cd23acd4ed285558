//! Datagrams of 64 bytes from a pod of one node to a pod of another, as many as pass.

use super::is_short;
use super::nodes::Node;
use super::{by_hand, usnet};
use crate::bulk::running_agent::RunningAgent;
use crate::host::namespaces::{of_pod, within};
use crate::host::programs::{Programs, timed};
use crate::report::{Targets, table};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use usnet_crds::EngineKind;
use usnet_test_vpp::Kind;

/// Of each setup, in turn.
const TURNS: usize = 20;
const TURN: Duration = Duration::from_secs(1);
const PORT: u16 = 7000;
/// With the headers of Ethernet, IPv4 and UDP these are 64 bytes.
const PAYLOAD: [u8; 22] = [7; 22];
const PATIENCE: Duration = Duration::from_secs(30);

/// Two nodes, each with a pod.
struct Setup {
    nodes: [Node; 2],
    pods: [usize; 2],
    _agents: Vec<RunningAgent>,
}

#[derive(Clone, Copy)]
struct Sample {
    /// Received, each second.
    rate: f64,
    /// Of both engines for each received, in µs.
    cpu: f64,
}

pub(crate) fn run(programs: &Programs, targets: &mut Targets) {
    compare(EngineKind::OpenVswitch, "Open vSwitch, VXLAN of the kernel", programs, targets);
    match Kind::best() {
        Kind::Real => compare(EngineKind::Vpp, "VPP, VXLAN of the kernel", programs, targets),
        Kind::Simulator => println!("\nPackets over VPP are left out: the simulator moves none"),
    }
}

fn compare(engine: EngineKind, place: &str, programs: &Programs, targets: &mut Targets) {
    let setups = [Setup::by_hand(engine), Setup::usnet(engine, programs)];
    let mut samples: [Vec<Sample>; 2] = [Vec::new(), Vec::new()];
    setups.iter().for_each(Setup::warm_up);
    for turn in 0..if is_short() { 2 } else { TURNS } {
        eprintln!("{place}: packets between nodes, turn {turn}");
        for (setup, samples) in setups.iter().zip(&mut samples) {
            samples.push(setup.measure());
        }
    }
    let [hand, ours] = samples.map(|samples| {
        let middle = |value: fn(&Sample) -> f64| middle(samples.iter().map(value).collect());
        Sample { rate: middle(|sample| sample.rate), cpu: middle(|sample| sample.cpu) }
    });
    let less = targets.check(
        "packets/s by hand / with usnet (0.95 or more of them)",
        place.to_owned(),
        hand.rate / ours.rate,
        1.0 / 0.95,
    );
    let more =
        targets.check("CPU for each packet, with usnet / by hand", place.to_owned(), ours.cpu / hand.cpu, 1.0 / 0.95);
    let row = |name: &str, value: fn(&Sample) -> f64, ratio: f64, text: String| {
        [name.to_owned(), table::number(value(&hand)), table::number(value(&ours)), table::ratio(ratio), text].into()
    };
    table::print(
        &format!("{place}: datagrams of 64 bytes between two nodes, median of turns of 1 s"),
        &["", "by hand", "usnet", "usnet / by hand", "target of the inverse or of this"],
        &[
            row("received each second", |sample| sample.rate, ours.rate / hand.rate, less),
            row("CPU of both engines for each, µs", |sample| sample.cpu, ours.cpu / hand.cpu, more),
        ],
    );
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

impl Setup {
    fn by_hand(engine: EngineKind) -> Self {
        let (nodes, pods) = (Node::pair(engine), pods());
        by_hand::configure(&nodes[0], &nodes[1], pods[0]);
        by_hand::configure(&nodes[1], &nodes[0], pods[1]);
        Self::addressed(nodes, pods, Vec::new())
    }

    fn usnet(engine: EngineKind, programs: &Programs) -> Self {
        let (nodes, pods) = (Node::pair(engine), pods());
        let agents = vec![
            usnet::configure(programs, &nodes[0], &nodes[1], pods[0]),
            usnet::configure(programs, &nodes[1], &nodes[0], pods[1]),
        ];
        Self::addressed(nodes, pods, agents)
    }

    fn addressed(nodes: [Node; 2], pods: [usize; 2], agents: Vec<RunningAgent>) -> Self {
        let setup = Self { nodes, pods, _agents: agents };
        for pod in pods {
            let address = format!("addr add {}/24 dev net1", address(pod));
            for arguments in [address.as_str(), "link set net1 up"] {
                within(&of_pod(pod), || timed(Command::new("ip").args(arguments.split(' '))));
            }
        }
        setup
    }

    /// Neighbours and forwarding databases are known afterwards.
    fn warm_up(&self) {
        let end = Instant::now() + PATIENCE;
        let [from, to] = self.sockets();
        to.set_read_timeout(Some(Duration::from_millis(50))).expect("a time limit");
        while to.recv(&mut [0; 64]).is_err() {
            assert!(Instant::now() < end, "no datagram passes between the nodes");
            let _no_neighbour = from.send(&PAYLOAD);
        }
    }

    fn sockets(&self) -> [UdpSocket; 2] {
        let [from, to] = self.pods;
        let bound = |pod: usize, port: u16| {
            within(&of_pod(pod), move || UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).expect("a socket"))
        };
        let sockets = [bound(from, 0), bound(to, PORT)];
        sockets[0].connect((address(to), PORT)).expect("an address");
        sockets
    }

    fn cpu(&self) -> Duration {
        self.nodes.iter().map(Node::cpu).sum()
    }

    fn measure(&self) -> Sample {
        let [from, to] = self.sockets();
        to.set_read_timeout(Some(Duration::from_millis(50))).expect("a time limit");
        let (is_over, received) = (AtomicBool::new(false), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // A queue that is full refuses.
                    let _refused = from.send(&PAYLOAD);
                }
            });
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    if to.recv(&mut [0; 64]).is_ok() {
                        received.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            // Queues are full by then.
            thread::sleep(TURN / 5);
            let (before, cpu, start) = (received.load(Ordering::Relaxed), self.cpu(), Instant::now());
            thread::sleep(TURN);
            let packets = (received.load(Ordering::Relaxed) - before) as f64;
            let (cpu, took) = (self.cpu() - cpu, start.elapsed());
            is_over.store(true, Ordering::Relaxed);
            Sample { rate: packets / took.as_secs_f64(), cpu: cpu.as_secs_f64() * 1e6 / packets }
        })
    }
}

/// Two pods that no other setup has.
fn pods() -> [usize; 2] {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let first = NEXT.fetch_add(2, Ordering::Relaxed);
    [first, first + 1]
}

fn address(pod: usize) -> Ipv4Addr {
    Ipv4Addr::from([10, 142, 0, 1 + u8::try_from(pod).expect("a small number")])
}
