//! Two kernel pods on Open vSwitch: by packet sockets and by AF_XDP, and TCP with and without the
//! switch's segmentation offload; as usnet sets ports up, and by hand.

use super::{is_short, middle};
use crate::host::namespaces::{of_pod, within};
use crate::report::{Targets, table};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use usnet_dataplane::isolation;
use usnet_dataplane::netlink::Ethtool;
use usnet_dataplane::port::{DeviceRole, UNKNOWN_SEGMENTATION};
use usnet_test_openvswitch::OpenVswitch;

const BRIDGE: &str = "br-kernel";
/// Of each setting, in turn.
const TURNS: usize = 7;
const FRAMES_FOR: Duration = Duration::from_millis(1500);
const TCP_FOR: Duration = Duration::from_millis(1500);
/// Datagrams that are answered, one at a time.
const EXCHANGES: usize = 3000;
/// A frame of 64 bytes with its checksum.
const PAYLOAD: usize = 18;
/// How long a datagram may take before it is lost.
const PATIENCE: Duration = Duration::from_millis(500);
const ADDRESSES: [[u8; 4]; 2] = [[10, 9, 0, 1], [10, 9, 0, 2]];
const CHECKSUMS: &str = "tx-checksum-ip-generic";

/// How the ports are set up.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Setting {
    /// The type of the interfaces.
    kind: &'static str,
    /// Whether the switch has segmentation offload, and pods leave checksums to it.
    has_offload: bool,
    is_usnet: bool,
}

impl Setting {
    const ALL: [Self; 6] = [
        Self { kind: "system", has_offload: false, is_usnet: false },
        Self { kind: "system", has_offload: false, is_usnet: true },
        Self { kind: "afxdp", has_offload: false, is_usnet: false },
        Self { kind: "afxdp", has_offload: false, is_usnet: true },
        Self { kind: "system", has_offload: true, is_usnet: false },
        Self { kind: "system", has_offload: true, is_usnet: true },
    ];

    fn name(self) -> String {
        let way = match (self.kind, self.has_offload) {
            ("afxdp", _) => "`AFXDP`",
            (_, true) => "`Kernel`, segmentation offload",
            (_, false) => "`Kernel`",
        };
        format!("{way}{}", if self.is_usnet { "" } else { ", by hand" })
    }
}

/// A figure of a sample.
type Figure = fn(&Sample) -> f64;

#[derive(Clone, Copy)]
struct Sample {
    /// Thousands of frames that arrive each second.
    frames: f64,
    /// Half the median of the time until an answer, in microseconds.
    one_way: f64,
    /// MiB each second by TCP.
    tcp: f64,
}

pub(super) fn run(targets: &mut Targets) {
    let mut samples = Setting::ALL.map(|setting| (setting, Vec::new()));
    for turn in 0..if is_short() { 1 } else { TURNS } {
        for (setting, samples) in &mut samples {
            eprintln!("kernel pods: turn {turn}, {}", setting.name());
            samples.push(Scene::new(*setting).measure());
        }
    }
    print(&samples, targets);
}

/// A switch with two pods.
struct Scene {
    switch: OpenVswitch,
}

impl Scene {
    fn new(setting: Setting) -> Self {
        let mut switch = OpenVswitch::builder().without_vswitchd().start().expect("a database");
        let offload = format!("other_config:userspace-tso-enable={}", setting.has_offload);
        // The other core is that of the pods.
        let polling = ["other_config:pmd-cpu-mask=0x1", "other_config:pmd-maxsleep=0"];
        let configured = ["--no-wait", "set", "Open_vSwitch", ".", &offload].into_iter().chain(polling);
        switch.vsctl(&configured.collect::<Vec<_>>()).expect("the database answers");
        switch.start_vswitchd().expect("Open vSwitch starts");
        let scene = Self { switch };
        scene.vsctl(&format!("add-br {BRIDGE} -- set Bridge {BRIDGE} datapath_type=netdev"));
        for pod in 0..ADDRESSES.len() {
            scene.add_pod(pod, setting);
        }
        let others = [(0, 1), (1, 0)];
        for (pod, other) in others {
            let mac = within(&of_pod(other), || ip("-o link show net1"))
                .split_once("link/ether ")
                .map(|(_, rest)| rest.split_whitespace().next().unwrap_or_default().to_owned());
            let mac = mac.expect("a MAC address");
            let command = format!("neigh replace {} lladdr {mac} dev net1", address(other));
            within(&of_pod(pod), || ip(&command));
        }
        scene
    }

    fn vsctl(&self, words: &str) {
        self.switch.vsctl(&words.split(' ').collect::<Vec<_>>()).expect("the database answers");
    }

    fn add_pod(&self, pod: usize, setting: Setting) {
        let (node, namespace) = (self.switch.network_namespace(), of_pod(pod));
        let device = format!("port{pod}");
        let file = File::open(&namespace).expect("a network namespace");
        let there = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        within(&node, || {
            ip(&format!("link add {device} type veth peer name net1 netns {there}"));
            if setting.is_usnet {
                isolation::isolate(&device).expect("nftables for devices");
            }
            set_up(&device, DeviceRole::EngineEndpoint, setting);
            ip(&format!("link set {device} up"));
        });
        within(&namespace, || {
            set_up("net1", DeviceRole::PodEndpoint, setting);
            ip("link set lo up");
            ip("link set net1 up");
            ip(&format!("addr add {}/24 dev net1", address(pod)));
        });
        let mtu = if setting.is_usnet { " mtu_request=1500" } else { "" };
        self.vsctl(&format!("add-port {BRIDGE} {device} -- set Interface {device} type={}{mtu}", setting.kind));
    }

    fn measure(&self) -> Sample {
        // Each side learns where the other is before.
        let one_way = one_way();
        Sample { frames: frames(), one_way, tcp: tcp() }
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // The pods' ends are in namespaces that outlive the switch.
        for pod in 0..ADDRESSES.len() {
            within(&of_pod(pod), || ip("link del net1"));
        }
    }
}

/// The offloads of a device, in its network namespace.
fn set_up(device: &str, role: DeviceRole, setting: Setting) {
    let index = nix::net::if_::if_nametoindex(device).expect("the device");
    let off = role.offloads_off().iter().filter(|_| !setting.has_offload).map(|name| (*name, false));
    let left = UNKNOWN_SEGMENTATION.iter().filter(|_| setting.has_offload && setting.is_usnet);
    let mut changes: Vec<_> = off.chain(left.map(|name| (*name, false))).collect();
    changes.extend(setting.has_offload.then_some((CHECKSUMS, true)));
    Ethtool::open().and_then(|mut ethtool| ethtool.set_features(index, &changes)).expect("offloads");
}

fn address(pod: usize) -> IpAddr {
    IpAddr::from(ADDRESSES[pod])
}

fn ip(arguments: &str) -> String {
    let output = std::process::Command::new("ip").args(arguments.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn udp(pod: usize) -> UdpSocket {
    within(&of_pod(pod), || {
        let socket = UdpSocket::bind((address(pod), 9000)).expect("a socket");
        socket.connect((address(1 - pod), 9000)).expect("a peer");
        socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
        socket
    })
}

fn one_way() -> f64 {
    let (asking, answering) = (udp(0), udp(1));
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut buffer = [0; PAYLOAD];
            while !is_done.load(Ordering::Relaxed) {
                if answering.recv(&mut buffer).is_ok() {
                    let _lost = answering.send(&buffer);
                }
            }
        });
        let mut buffer = [0; PAYLOAD];
        let mut times = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            let began = Instant::now();
            asking.send(&buffer).expect("a frame is sent");
            if asking.recv(&mut buffer).is_ok() {
                times.push(began.elapsed().as_secs_f64() * 1e6 / 2.0);
            }
        }
        is_done.store(true, Ordering::Relaxed);
        assert!(times.len() * 100 > EXCHANGES * 99, "{} of {EXCHANGES} datagrams were answered", times.len());
        middle(times)
    })
}

/// What arrives at the device of one pod while the other sends as fast as it can.
fn frames() -> f64 {
    let (sender, _receiver) = (udp(0), udp(1));
    let received = || {
        let text = within(&of_pod(1), || ip("-s -o link show net1"));
        let (_, counters) = text.split_once("RX:").expect("counters");
        let mut numbers = counters.split(['\\', ' ']).filter_map(|word| word.parse::<f64>().ok());
        // Bytes come first.
        numbers.nth(1).expect("a counter")
    };
    let (before, began) = (received(), Instant::now());
    while began.elapsed() < FRAMES_FOR {
        for _ in 0..64 {
            // A full queue is no reason to end.
            let _full = sender.send(&[0; PAYLOAD]);
        }
    }
    (received() - before) / began.elapsed().as_secs_f64() / 1e3
}

fn tcp() -> f64 {
    let listener = within(&of_pod(1), || TcpListener::bind((address(1), 0)).expect("a socket"));
    let port = listener.local_addr().expect("its port").port();
    thread::scope(|scope| {
        let received = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            let (mut bytes, mut buffer) = (0.0, vec![0; 1 << 18]);
            loop {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break bytes,
                    Ok(more) => bytes += f64::from(u32::try_from(more).expect("a part of the buffer")),
                }
            }
        });
        let mut stream = within(&of_pod(0), || TcpStream::connect((address(1), port)).expect("a connection"));
        let (chunk, began) = (vec![7; 1 << 18], Instant::now());
        while began.elapsed() < TCP_FOR {
            stream.write_all(&chunk).expect("TCP does not stall");
        }
        drop(stream);
        let bytes = received.join().expect("a receiver");
        bytes / began.elapsed().as_secs_f64() / f64::from(1 << 20)
    })
}

fn print(samples: &[(Setting, Vec<Sample>)], targets: &mut Targets) {
    let of =
        |setting: Setting| samples.iter().find(|(found, _)| *found == setting).map_or(&[][..], |(_, it)| it.as_slice());
    let ratio = |one: Setting, other: Setting, value: fn(&Sample) -> f64| {
        middle(of(one).iter().zip(of(other)).map(|(one, other)| value(one) / value(other)).collect())
    };
    let by_hand = |setting: Setting| Setting { is_usnet: false, ..setting };
    let row = |(setting, samples): &(Setting, Vec<Sample>)| {
        let median = |value: fn(&Sample) -> f64| middle(samples.iter().map(value).collect());
        let mut checked = String::new();
        if setting.is_usnet {
            let place = format!("Open vSwitch, {}", setting.name());
            // By hand divided by usnet: at most as much more as 0.99 allows.
            let values: [(&str, Figure); 2] = [("frames", |sample| sample.frames), ("TCP", |sample| sample.tcp)];
            for (what, value) in values {
                let target = format!("kernel pods: {what} by hand / usnet");
                let found = ratio(by_hand(*setting), *setting, value);
                checked = targets.check(&target, place.clone(), found, 1.01);
            }
        }
        vec![
            setting.name(),
            table::number(median(|sample| sample.frames)),
            table::ratio(median(|sample| sample.one_way)),
            table::number(median(|sample| sample.tcp)),
            checked,
        ]
    };
    let rows: Vec<_> = samples.iter().map(row).collect();
    let [kernel, af_xdp, offload] = [1, 3, 5].map(|place| Setting::ALL[place]);
    let place = || "Open vSwitch, veth".to_owned();
    let slower = ratio(kernel, af_xdp, |sample| sample.frames);
    targets.check("kernel pods: frames of Kernel / AFXDP", place(), slower, 0.25);
    let one_way = middle(of(af_xdp).iter().map(|sample| sample.one_way).collect());
    targets.check("kernel pods: microseconds one way by AFXDP", place(), one_way, 20.0);
    let hand = ratio(by_hand(offload), offload, |sample| sample.tcp);
    targets.check("kernel pods: TCP with segmentation offload, by hand / usnet", place(), hand, 1.11);
    let columns = ["", "thousand frames each second", "µs one way, idle", "MiB/s by TCP", "target"];
    table::print("Open vSwitch: two kernel pods, medians", &columns, &rows);
}
