//! What a pod can do to its node over its interface: nothing. In network namespaces of each test.
//! Needs root.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use nix::sched::{CloneFlags, setns, unshare};
use std::fs::{self, File};
use std::io;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use usnet_dataplane::isolation;
use usnet_dataplane::links::{KernelLinks, LentDevices};
use usnet_test_abuse::{Frame, PORT, Target, frames, send};

/// Settings of a node, for all devices.
const DEFAULTS: &[(&str, &str)] = &[("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")];
/// Those that let in the most.
const OPEN: &[(&str, &str)] = &[
    ("ipv4/ip_forward", "1"),
    ("ipv6/conf/all/forwarding", "1"),
    ("ipv4/conf/all/rp_filter", "0"),
    ("ipv4/conf/default/rp_filter", "0"),
    ("ipv4/conf/all/arp_ignore", "0"),
    ("ipv4/conf/all/arp_accept", "1"),
    ("ipv4/conf/default/arp_accept", "1"),
    ("ipv4/conf/all/accept_redirects", "1"),
    ("ipv4/conf/all/route_localnet", "1"),
    ("ipv4/icmp_echo_ignore_broadcasts", "0"),
    ("ipv6/conf/all/accept_ra", "2"),
    ("ipv6/conf/default/accept_ra", "2"),
    ("ipv6/conf/all/accept_redirects", "1"),
];

/// A reverse path filter as many distributions set it.
const LOOSE: &[(&str, &str)] = &[("ipv4/conf/all/rp_filter", "2"), ("ipv4/conf/default/rp_filter", "2")];

/// A network namespace that exists as long as this.
struct Namespace {
    path: PathBuf,
    _end: Sender<()>,
}

impl Namespace {
    fn new() -> Self {
        let (end, ended) = channel::<()>();
        let (made, path) = channel();
        thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            let thread = fs::read_link("/proc/thread-self").unwrap();
            made.send(PathBuf::from("/proc").join(thread).join("ns/net")).unwrap();
            let _ended = ended.recv();
        });
        Self { path: path.recv().unwrap(), _end: end }
    }

    fn within<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let run = || {
            setns(File::open(&self.path).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            act()
        };
        thread::scope(|scope| scope.spawn(run).join().unwrap())
    }
}

fn ip(arguments: &str) -> String {
    let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A node in the namespace of the thread, a pod behind `end`, and a host behind `out`, to which the
/// node forwards.
struct Node {
    pod: Namespace,
    host: Namespace,
    target: Target,
}

impl Node {
    /// The node's end is made as the plugin makes it, and is still down.
    fn new(settings: &[(&str, &str)]) -> Self {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        for (name, value) in settings {
            fs::write(format!("/proc/sys/net/{name}"), value).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let (pod, host) = (Namespace::new(), Namespace::new());
        ip("link set lo up");
        for (device, other, namespace) in [("end", "net1", &pod), ("out", "nic", &host)] {
            ip(&format!("link add {device} type veth peer name {other} netns {}", namespace.path.display()));
            namespace.within(|| {
                // What the other side sends by itself would be taken for an effect.
                ip(&format!("link set {other} addrgenmode none"));
                ip(&format!("link set {other} up"));
            });
        }
        host.within(|| {
            ip("link set nic address 02:00:00:00:00:77");
            ip("addr add 10.77.0.2/24 dev nic");
            ip("addr add fd77::2/64 dev nic nodad");
        });
        ip("link set end alias usnet:c1.net1");
        ip("link set out addrgenmode none");
        ip("link set out up");
        ip("addr add 10.77.0.1/24 dev out");
        ip("addr add fd77::1/64 dev out nodad");
        // As every node has.
        ip("route add default via 10.77.0.2");
        ip("neigh add 10.77.0.2 lladdr 02:00:00:00:00:77 dev out");
        ip("neigh add fd77::2 lladdr 02:00:00:00:00:77 dev out");
        let mac = ip("-o link show dev end");
        let mac = mac.split("link/ether ").nth(1).unwrap().split(' ').next().unwrap();
        let mac: Vec<u8> = mac.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
        let target = Target {
            mac: mac.try_into().unwrap(),
            ipv4: "10.77.0.1".parse().unwrap(),
            ipv6: "fd77::1".parse().unwrap(),
            beyond_ipv4: "10.77.0.2".parse().unwrap(),
            beyond_ipv6: "fd77::2".parse().unwrap(),
        };
        Self { pod, host, target }
    }

    /// Sends all frames, so many at once; returns the effects of each lot, with its first frame.
    fn effects(&self, at_once: usize) -> Vec<String> {
        let listen = || [PORT, 67].map(|port| UdpSocket::bind(("::", port)).unwrap());
        let sockets: Vec<UdpSocket> = listen().into_iter().chain(self.host.within(listen)).collect();
        sockets.iter().for_each(|socket| socket.set_nonblocking(true).unwrap());
        let mut before = self.state();
        let all = frames(&self.target);
        let mut found = Vec::new();
        for frames in all.chunks(at_once) {
            send(Some(&self.pod.path), "net1", frames).unwrap();
            let after = self.state();
            found.extend(effect(&frames[0], &sockets, &before, &after));
            before = after;
        }
        found
    }

    /// What frames of the pod could change, and what it could be sent.
    fn state(&self) -> Vec<String> {
        let tables =
            ["-4 route show table all", "-6 route show table all", "neigh show", "-o addr show", "-4 route show cache"];
        let mut state: Vec<String> = tables.map(ip).iter().map(|table| stable(table)).collect();
        state.push(format!("the pod received {}", self.pod.within(|| received("net1"))));
        state
    }
}

/// A table without ages and counters.
fn stable(table: &str) -> String {
    let words = |line: &str| {
        let mut kept = Vec::new();
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            match word {
                "expires" | "age" | "valid_lft" | "preferred_lft" => drop(words.next()),
                "REACHABLE" | "STALE" | "DELAY" | "PROBE" | "PERMANENT" => {}
                _ => kept.push(word),
            }
        }
        kept.join(" ")
    };
    table.lines().map(words).collect::<Vec<_>>().join("\n")
}

fn received(device: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{device}:"))).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn effect(frame: &Frame, sockets: &[UdpSocket], before: &[String], after: &[String]) -> Option<String> {
    let changed = before.iter().zip(after).find(|(before, after)| before != after);
    let is_received = sockets.iter().any(|socket| match socket.recv(&mut [0; 2000]) {
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        Ok(_) => true,
    });
    match (changed, is_received) {
        (None, false) => None,
        (Some((before, after)), _) => Some(format!("{}: {after} (before: {before})", frame.name)),
        (None, true) => Some(format!("{}: received by a program of the node or of a host", frame.name)),
    }
}

/// As the plugin does it.
fn isolate() {
    isolation::isolate("end").unwrap();
    isolation::settings::disable_ipv6("end");
    ip("link set end up");
}

fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(5);
    while !condition() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn nothing_that_a_pod_sends_has_an_effect_on_its_node() {
    for settings in [DEFAULTS.to_vec(), OPEN.to_vec(), [OPEN, LOOSE].concat()] {
        thread::spawn(move || {
            let node = Node::new(&settings);
            isolate();
            assert_eq!(node.effects(usize::MAX), Vec::<String>::new());
        })
        .join()
        .unwrap();
    }
}

/// What the test before shows, if the node is not isolated: the frames are good.
#[test]
fn without_isolation_frames_of_each_kind_have_effects() {
    let node = Node::new(OPEN);
    ip("link set end up");
    let has_address = |addresses: &str| addresses.contains("fe80") && !addresses.contains("tentative");
    until("the node has a link-local address", || has_address(&ip("-6 -o addr show dev end")));
    let found = node.effects(1);
    for kind in
        ["UDP to the node from", "UDP over IPv6", "ARP", "router advertisement", "what the node forwards to", "DHCP"]
    {
        assert!(found.iter().any(|effect| effect.contains(kind)), "{kind}: {found:#?}");
    }
}

/// The agent does this again and again: a second time there is nothing to do.
#[test]
fn what_is_missing_is_made_again_and_what_is_right_is_left() {
    let node = Node::new(OPEN);
    ip("link set end up");
    let mut kernel = KernelLinks::open(None).unwrap();
    let mut keep = || {
        let kept = kernel.keep_isolated(&LentDevices::default()).unwrap().unwrap();
        assert!(kept.failures.is_empty(), "{:?}", kept.failures);
        kept.changes
    };
    // As a pod of the version before has it.
    assert_eq!(keep(), ["isolate device end from the node", "restore the settings of device end"]);
    assert_eq!(keep(), Vec::<String>::new());
    ip("link set end down");
    assert_eq!(keep(), ["set up device end"]);
    fs::write("/proc/sys/net/ipv4/conf/end/rp_filter", "2").unwrap();
    fs::write("/proc/sys/net/ipv4/conf/end/forwarding", "1").unwrap();
    assert_eq!(keep(), ["restore the settings of device end"]);
    let mut batch = usnet_dataplane::nftables::Batch::default();
    batch.delete_table(isolation::TABLE);
    usnet_dataplane::nftables::Nftables::open().unwrap().commit(batch).unwrap();
    assert_eq!(keep(), ["isolate device end from the node"]);
    ip("link set end down");
    ip("link set end name renamed");
    let changes = keep();
    assert!(changes.contains(&"isolate device renamed from the node".to_owned()), "{changes:?}");
    // The node itself may still send on a device that it had an address on.
    let effects = node.effects(usize::MAX);
    assert!(effects.iter().all(|effect| effect.contains("the pod received")), "{effects:?}");
    ip("link del renamed");
    let _removed = keep();
    assert_eq!(keep(), Vec::<String>::new());
    let chains = usnet_dataplane::nftables::Nftables::open().unwrap().chains(isolation::TABLE).unwrap();
    assert_eq!(chains, [], "of no device that is gone");
}

/// What ADD and DEL of a pod wait for.
#[test]
fn a_chain_takes_a_millisecond() {
    let _node = Node::new(DEFAULTS);
    let times = (0..20).map(|number| {
        ip(&format!("link add v{number} type veth peer name w{number}"));
        let start = Instant::now();
        isolation::isolate(&format!("v{number}")).unwrap();
        start.elapsed()
    });
    let mut times: Vec<Duration> = times.collect();
    times.sort();
    eprintln!("a chain: median {:?}, longest {:?}", times[10], times[19]);
    let removals = (0..20).map(|number| {
        let start = Instant::now();
        ip(&format!("link del v{number}"));
        start.elapsed()
    });
    let mut removals: Vec<Duration> = removals.collect();
    removals.sort();
    eprintln!("ip link del: median {:?}, longest {:?}", removals[10], removals[19]);
    assert!(times[10] < Duration::from_millis(20), "{times:?}");
}
