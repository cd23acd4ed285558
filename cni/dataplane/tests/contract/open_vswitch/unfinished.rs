//! Packets that pods leave unfinished, without checksums and larger than a frame, where no port of
//! theirs may: a program with the privileges in a pod switches the offload on. The switch has
//! segmentation offload, and floods everything. A NIC gets them finished. Programs with vhost-user
//! ports get them as they are from Open vSwitch 3.1, although they have not negotiated it, and the
//! page says so.

use super::packets_of_ip::problem;
use super::{Daemons, TIMEOUT, vsctl};
use nix::sched::{CloneFlags, setns, unshare};
use smoltcp::phy::{Device as _, Medium, RawSocket, RxToken as _};
use smoltcp::time::Instant as Now;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;
use usnet_endpoint::Port as _;
use usnet_endpoint::vhost_user::{Endpoint, Listener};

const BRIDGE: &str = "br-unfinished";
/// The NIC, and what is beyond it.
const NIC: &str = "nic0";
const CABLE: &str = "beyond0";
const BYTES: usize = 4_000_000;
/// Ethernet, a VLAN tag and the MTU.
const LONGEST_FRAME: usize = 14 + 4 + 1500;

/// What came to a receiver: how many whole frames, and what is wrong with others.
#[derive(Debug, Default)]
struct Arrived {
    whole: usize,
    problems: Vec<String>,
}

impl Arrived {
    fn add(&mut self, frame: &[u8]) {
        match problem(frame, LONGEST_FRAME) {
            Some(problem) => self.problems.push(problem),
            None => self.whole += 1,
        }
    }
}

struct Scene {
    daemons: Daemons,
    node: File,
    pods: [File; 2],
    endpoint: (Listener, Endpoint),
}

fn namespace() -> File {
    let create = || {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace");
        File::open("/proc/thread-self/ns/net").expect("its file")
    };
    thread::spawn(create).join().expect("a namespace")
}

fn within<T: Send>(namespace: &File, act: impl FnOnce() -> T + Send) -> T {
    let enter = || {
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("entered");
        act()
    };
    thread::scope(|scope| scope.spawn(enter).join().expect("a thread"))
}

fn run(namespace: &File, command: &str) {
    let (program, arguments) = command.split_once(' ').expect("arguments");
    let output = within(namespace, || Command::new(program).args(arguments.split(' ')).output().expect(program));
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
}

fn address(pod: usize) -> Ipv4Addr {
    [[10, 9, 0, 1], [10, 9, 0, 2]][pod].into()
}

impl Scene {
    fn start() -> Self {
        let mut daemons =
            Daemons::builder().dpdk(true).dpdk_memory(256).without_vswitchd().start().expect("a database");
        vsctl(&daemons, "--no-wait set Open_vSwitch . other_config:userspace-tso-enable=true");
        daemons.start_vswitchd().expect("Open vSwitch");
        let node = File::open(daemons.network_namespace()).expect("a namespace");
        let (pods, socket) = ([namespace(), namespace()], daemons.folder().join("program.sock"));
        run(&node, "sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1");
        vsctl(&daemons, &format!("add-br {BRIDGE} -- set Bridge {BRIDGE} datapath_type=netdev flood_vlans=0"));
        for (place, pod) in pods.iter().enumerate() {
            let there = format!("/proc/{}/fd/{}", std::process::id(), pod.as_raw_fd());
            run(&node, &format!("ip link add port{place} type veth peer name net1 netns {there}"));
            run(&node, &format!("ip link set port{place} up"));
            run(pod, &format!("ip addr add {}/24 dev net1", address(place)));
            run(pod, "ip link set net1 up");
            vsctl(&daemons, &format!("add-port {BRIDGE} port{place}"));
        }
        run(&node, &format!("ip link add {NIC} type veth peer name {CABLE}"));
        // The kernel finishes what is sent by it, as that of a NIC does that cannot.
        run(&node, &format!("ethtool -K {NIC} tx off"));
        run(&node, &format!("ip link set {NIC} up"));
        run(&node, &format!("ip link set {CABLE} up"));
        vsctl(&daemons, &format!("add-port {BRIDGE} {NIC}"));
        let endpoint = connect(&daemons, &socket);
        Self { daemons, node, pods, endpoint }
    }

    /// Sends by TCP and UDP from the first pod to the second one; returns what came beyond the NIC
    /// and to the program.
    fn exchange(&mut self) -> [Arrived; 2] {
        let is_over = AtomicBool::new(false);
        let (node, endpoint) = (&self.node, &mut self.endpoint.1);
        thread::scope(|scope| {
            let beyond = scope.spawn(|| within(node, || capture(CABLE, &is_over)));
            let program = scope.spawn(|| receive(endpoint, &is_over));
            let sent = [transfer(&self.pods), datagrams(&self.pods)];
            is_over.store(true, Ordering::Relaxed);
            assert_eq!(sent, [true, true], "TCP and UDP between ports that finish packets");
            [beyond, program].map(|receiver| receiver.join().expect("a receiver"))
        })
    }
}

fn connect(daemons: &Daemons, socket: &Path) -> (Listener, Endpoint) {
    let listener = Listener::bind(socket).expect("a socket");
    let options = format!("type=dpdkvhostuserclient options:vhost-server-path={}", socket.display());
    vsctl(daemons, &format!("add-port {BRIDGE} program -- set Interface program {options}"));
    let endpoint = listener.accept(TIMEOUT).expect("the switch connects");
    (listener, endpoint)
}

fn capture(device: &str, is_over: &AtomicBool) -> Arrived {
    let mut socket = RawSocket::new(device, Medium::Ethernet).expect("a packet socket");
    let mut arrived = Arrived::default();
    while !is_over.load(Ordering::Relaxed) {
        match socket.receive(Now::now()) {
            Some((token, _)) => token.consume(|frame| arrived.add(frame)),
            None => thread::sleep(Duration::from_millis(1)),
        }
    }
    arrived
}

fn receive(endpoint: &mut Endpoint, is_over: &AtomicBool) -> Arrived {
    let (mut arrived, mut frame) = (Arrived::default(), Vec::new());
    while !is_over.load(Ordering::Relaxed) {
        if endpoint.receive(&mut frame).expect("a frame") {
            arrived.add(&frame);
        } else {
            endpoint.wait(Duration::from_millis(1)).expect("waiting");
        }
    }
    arrived
}

fn transfer([from, to]: &[File; 2]) -> bool {
    let listener = within(to, || TcpListener::bind((address(1), 0)).expect("a socket"));
    let port = listener.local_addr().expect("an address").port();
    let stream = within(from, || TcpStream::connect_timeout(&(address(1), port).into(), TIMEOUT));
    let Ok(mut stream) = stream else { return false };
    let (mut received, _) = listener.accept().expect("a connection");
    stream.set_write_timeout(Some(TIMEOUT)).expect("a limit");
    received.set_read_timeout(Some(TIMEOUT)).expect("a limit");
    thread::scope(|scope| {
        let reader = scope.spawn(move || received.read_exact(&mut vec![0; BYTES]).is_ok());
        stream.write_all(&vec![7; BYTES]).is_ok() & reader.join().expect("a thread")
    })
}

fn datagrams([from, to]: &[File; 2]) -> bool {
    let socket = |pod: &File, place| within(pod, move || UdpSocket::bind((address(place), 7000)).expect("a socket"));
    let (sender, receiver) = (socket(from, 0), socket(to, 1));
    receiver.set_read_timeout(Some(Duration::from_millis(100))).expect("a limit");
    (0..100)
        .filter(|_| {
            sender.send_to(&[7; 1000], (address(1), 7000)).expect("sent");
            receiver.recv(&mut [0; 2000]).is_ok()
        })
        .count()
        > 50
}

/// Not by AF_XDP: usnet has no such ports on a switch with segmentation offload.
#[test]
fn what_a_pod_leaves_unfinished_leaves_the_node_finished() {
    let mut scene = Scene::start();
    let [beyond, program] = scene.exchange();
    assert_eq!(beyond.problems, Vec::<String>::new());
    assert!(beyond.whole > 100, "{}", beyond.whole);
    // Once these are none, usnet may leave more bridges to the switch.
    assert!(program.whole + program.problems.len() > 0, "nothing came to the program");
    scene.daemons.appctl(&["version"]).expect("the switch runs");
}
