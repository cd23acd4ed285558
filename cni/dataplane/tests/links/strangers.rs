//! Packets of strangers to overlays: frames are sent into the cable of a node's NIC.

mod packets;

use super::{Node, device, ip, output_of};
use packets::{Packet, VXLAN_PORT, ethernet, fragments, mac_of, udp, vxlan};
use smoltcp::phy::{Device, Medium, RawSocket, RxToken, TxToken};
use smoltcp::time::Instant;
use std::collections::BTreeSet;
use std::fs;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use usnet_crds::NodeNetwork;
use usnet_dataplane::links::filter::{KernelFilter, OverlayFilter, OverlayKey};

const BLUE: u32 = 7001;
const RED: u32 = 7002;

/// A node with an overlay over IPv4 and one over IPv6, each with one peer, and its rules.
struct Scene {
    node: Node,
    filter: KernelFilter,
    cable: RawSocket,
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

impl Scene {
    fn new() -> Self {
        let mut node = Node::new().with("blue", BLUE, "10.0.0.1").with("red", RED, "fd00::1");
        node.converge();
        for (neighbour, family) in [("10.0.0.2", "-4"), ("10.0.0.66", "-4"), ("fd00::2", "-6"), ("fd00::66", "-6")] {
            ip(&format!("{family} neigh add {neighbour} lladdr 02:00:00:00:00:66 dev eth0 nud permanent"));
        }
        let cable = RawSocket::new("wire", Medium::Ethernet).unwrap();
        Self { node, filter: KernelFilter::open(None).unwrap(), cable }
    }

    fn desired(&mut self) -> OverlayFilter {
        OverlayFilter::new(std::iter::empty::<&NodeNetwork>(), &self.node.observe())
    }

    fn protect(&mut self) -> bool {
        let desired = self.desired();
        self.filter.ensure(&desired).expect("rules")
    }

    fn send(&mut self, packet: &Packet) {
        let frame = ethernet(mac_of("eth0"), packet);
        self.cable.transmit(Instant::now()).unwrap().consume(frame.len(), |buffer| buffer.copy_from_slice(&frame));
    }

    /// The kernel handles packets in order, and at times a little later.
    fn wait_for(network: &str, expected: (u64, usize)) {
        let end = std::time::Instant::now() + Duration::from_secs(2);
        while Self::of(network) != expected && std::time::Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(Self::of(network), expected, "frames and learned addresses of {network}");
    }

    /// How many frames a network has received, and the addresses that its device has learned.
    fn of(network: &str) -> (u64, usize) {
        let name = device(network);
        let statistics = output_of(&format!("ip -s link show dev {name}"));
        let received = statistics.lines().skip_while(|line| !line.contains("RX:")).nth(1).unwrap();
        let frames = received.split_whitespace().nth(1).unwrap().parse().unwrap();
        let entries = output_of(&format!("bridge fdb show dev {name}"));
        (frames, entries.lines().filter(|line| !line.starts_with("00:00:00:00:00:00")).count())
    }
}

/// What strangers send to the node itself.
fn of_strangers() -> Vec<Packet> {
    let mut all = Vec::new();
    for (node, strangers, vni) in [
        ("10.0.0.1", ["10.0.0.66", "10.244.1.7", "8.8.8.8"], BLUE),
        ("fd00::1", ["fd00::66", "fd01::7", "2001:db8::8"], RED),
    ] {
        for stranger in strangers {
            let packet = udp(address(stranger), address(node), VXLAN_PORT, &vxlan(vni, 9));
            all.extend([8, 16, 24].into_iter().flat_map(|cut| fragments(&packet, cut)));
            all.push(packet);
        }
    }
    all
}

#[test]
fn packets_of_strangers_reach_no_overlay_and_leave_nothing_behind() {
    let mut scene = Scene::new();
    // Without rules all of this arrives.
    for packet in of_strangers() {
        scene.send(&packet);
    }
    std::thread::sleep(Duration::from_millis(50));
    let [(blue, learned), (red, _)] = [Scene::of("blue"), Scene::of("red")];
    assert!(blue >= 3 && red >= 3 && learned > 0, "{blue} {red} {learned}");
    for network in ["blue", "red"] {
        let name = device(network);
        output_of(&format!("bridge fdb del 02:00:00:00:00:09 dev {name}"));
    }
    let before = [Scene::of("blue"), Scene::of("red")];
    assert_eq!(before.map(|(_, learned)| learned), [0, 0]);

    assert!(scene.protect());
    for packet in of_strangers() {
        scene.send(&packet);
    }
    let [(blue, _), (red, _)] = before;
    for (network, node, peer, vni, frames) in
        [("blue", "10.0.0.1", "10.0.0.2", BLUE, blue), ("red", "fd00::1", "fd00::2", RED, red)]
    {
        scene.send(&udp(address(peer), address(node), VXLAN_PORT, &vxlan(vni, 9)));
        Scene::wait_for(network, (frames + 1, 1));
    }
    assert!(scene.filter.dropped().unwrap() >= 12);
}

#[test]
fn packets_of_peers_and_of_other_overlays_on_the_port_pass() {
    let mut scene = Scene::new();
    ip("link add calico type vxlan id 4096 dstport 4789 local 10.0.0.1 dev eth0 noudpcsum");
    ip("link set calico up");
    scene.protect();
    for (network, node, peer, vni) in [("blue", "10.0.0.1", "10.0.0.2", BLUE), ("red", "fd00::1", "fd00::2", RED)] {
        let (before, _) = Scene::of(network);
        let packet = udp(address(peer), address(node), VXLAN_PORT, &vxlan(vni, 9));
        scene.send(&packet);
        Scene::wait_for(network, (before + 1, 1));
        for fragment in fragments(&packet, 16) {
            scene.send(&fragment);
        }
        Scene::wait_for(network, (before + 2, 1));
    }
    let stranger = udp(address("10.0.0.66"), address("10.0.0.1"), VXLAN_PORT, &vxlan(4096, 9));
    scene.send(&stranger);
    std::thread::sleep(Duration::from_millis(50));
    let statistics = output_of("ip -s link show dev calico");
    let received = statistics.lines().skip_while(|line| !line.contains("RX:")).nth(1).unwrap();
    assert_eq!(received.split_whitespace().nth(1), Some("1"), "{statistics}");
    assert_eq!(scene.filter.dropped().unwrap(), 0);
}

/// A pod of this node could have its packets masqueraded, so that they come from a peer.
#[test]
fn nothing_is_forwarded_to_an_overlay() {
    let mut scene = Scene::new();
    ip("link add eth1 up type veth peer name wire1");
    ip("link set wire1 up");
    ip("addr add 10.1.0.1/24 dev eth1");
    ip("addr add fd01::1/64 dev eth1 nodad");
    ip("neigh add 10.1.0.9 lladdr 02:00:00:00:00:99 dev eth1 nud permanent");
    ip("neigh add fd01::9 lladdr 02:00:00:00:00:99 dev eth1 nud permanent");
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
    fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").unwrap();
    let mut far = RawSocket::new("wire1", Medium::Ethernet).unwrap();
    let mut arrived = |payload: &[u8]| {
        std::thread::sleep(Duration::from_millis(20));
        let mut count = 0;
        while let Some((token, _)) = far.receive(Instant::now()) {
            count += token.consume(|frame| usize::from(frame.windows(payload.len()).any(|part| part == payload)));
        }
        count
    };
    for (far, sources, vni) in
        [("10.1.0.9", ["10.0.0.66", "10.0.0.2"], BLUE), ("fd01::9", ["fd00::66", "fd00::2"], RED)]
    {
        for source in sources {
            let ours = udp(address(source), address(far), VXLAN_PORT, &vxlan(vni, 9));
            let theirs = udp(address(source), address(far), VXLAN_PORT, &vxlan(4096, 9));
            let inner = vxlan(vni, 9)[8..].to_vec();
            scene.filter.ensure(&OverlayFilter::default()).unwrap();
            scene.send(&ours);
            assert_eq!(arrived(&inner), 1, "without rules, from {source}");
            scene.protect();
            scene.send(&ours);
            assert_eq!(arrived(&inner), 0, "from {source}");
            scene.send(&theirs);
            assert_eq!(arrived(&inner), 1, "another VNI from {source}");
            for cut in [8, 16] {
                scene.send(&fragments(&ours, cut)[0]);
            }
            assert_eq!(arrived(&(VXLAN_PORT.to_be_bytes())), 0, "first fragments from {source}");
        }
    }
}

#[test]
fn rules_are_repaired_and_those_of_others_are_left() {
    let mut scene = Scene::new();
    assert!(scene.protect() && !scene.protect(), "a second time nothing is changed");
    output_of("nft add table inet theirs");
    output_of("nft add chain inet theirs input { type filter hook input priority 0 ; }");
    for change in ["flush ruleset", "delete table inet usnet", "flush chain inet usnet overlay-input"] {
        output_of(&format!("nft {change}"));
        assert!(scene.protect(), "{change}");
        assert!(!scene.protect());
    }
    output_of("nft add table inet theirs");
    output_of("nft insert rule inet usnet overlay-input accept");
    assert!(scene.protect(), "a rule that lets all pass");
    output_of("nft add element inet usnet peers4 { 10.0.0.66 }");
    assert!(scene.protect());
    assert!(!output_of("nft list set inet usnet peers4").contains("10.0.0.66"));
    assert!(output_of("nft list tables").contains("inet theirs"));
    scene.filter.ensure(&OverlayFilter::default()).unwrap();
    assert_eq!(output_of("nft list tables").trim(), "table inet theirs");
}

/// A change of peers keeps what was counted, and no packet of a peer that stays is dropped.
#[test]
fn peers_come_and_go_in_place() {
    let mut scene = Scene::new();
    scene.protect();
    scene.send(&udp(address("10.0.0.66"), address("10.0.0.1"), VXLAN_PORT, &vxlan(BLUE, 9)));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(scene.filter.dropped().unwrap(), 1);
    let peers: BTreeSet<IpAddr> = ["10.0.0.2", "10.0.0.3"].map(address).into();
    scene.node.desired("blue").peers = Arc::new(peers);
    scene.node.converge();
    assert!(scene.protect());
    let (before, _) = Scene::of("blue");
    scene.send(&udp(address("10.0.0.3"), address("10.0.0.1"), VXLAN_PORT, &vxlan(BLUE, 9)));
    Scene::wait_for("blue", (before + 1, 1));
    assert_eq!(scene.filter.dropped().unwrap(), 1, "counters stay");
}

#[test]
fn an_overlay_with_a_multicast_group_takes_packets_of_its_segment_alone() {
    let mut scene = Scene::new();
    let mut desired = scene.desired();
    desired.peers.clear();
    desired.groups = [OverlayKey { port: VXLAN_PORT, vni: BLUE }].into();
    desired.segments = [(address("10.0.0.1"), 24)].into();
    scene.filter.ensure(&desired).unwrap();
    let (before, _) = Scene::of("blue");
    scene.send(&udp(address("10.0.1.77"), address("10.0.0.1"), VXLAN_PORT, &vxlan(BLUE, 8)));
    scene.send(&udp(address("10.0.0.77"), address("10.0.0.1"), VXLAN_PORT, &vxlan(BLUE, 9)));
    Scene::wait_for("blue", (before + 1, 1));
}

/// Also those that peers send: a full table floods, and costs nothing more.
#[test]
fn a_device_remembers_a_bounded_number_of_addresses_and_is_deleted_at_once() {
    let mut scene = Scene::new();
    scene.protect();
    for number in 0..10_000_u32 {
        scene.send(&udp(address("10.0.0.2"), address("10.0.0.1"), VXLAN_PORT, &vxlan(BLUE, number)));
    }
    std::thread::sleep(Duration::from_millis(50));
    let (_, learned) = Scene::of("blue");
    assert!((8000..=8192).contains(&learned), "{learned}");
    let start = std::time::Instant::now();
    scene.node.desired.clear();
    scene.node.converge();
    assert!(start.elapsed().as_secs() < 3, "{:?}", start.elapsed());
}
