//! Floods: one pod claims as many MAC addresses or neighbours as it can send frames for. Other
//! networks lose nothing, and VPP's memory does not grow without a limit. Only a real VPP learns.

use super::gateways::with_gateway;
use super::packets::Pod;
use crate::flood::{Flood, length, of_mac_addresses};
use crate::switch::Switch;
use crate::values::{Values, bridge, converge, observe, port_name};
use crate::vpp::switch::{VppSwitch, domain_id};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use usnet_crds::NodeNetwork;
use usnet_dataplane::desired::Desired;
use usnet_vpp::messages::L2FibTableDump;

/// How much VPP may have taken when the flood is over.
const MORE_MEMORY: u64 = 64 << 10;
/// How often the agent looks at VPP.
const POLL: Duration = Duration::from_secs(2);

/// Of VPP, in KiB.
fn resident(switch: &VppSwitch) -> u64 {
    let pid = switch.vpp().pid().expect("VPP runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its memory");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}

/// An ARP request for the gateway 10.1.0.1 from the next address of 10.1.0.0/16.
fn arp_frame(number: u32) -> Vec<u8> {
    let [.., high, low] = (number % 65_000 + 256).to_be_bytes();
    let mac = [0x02, 0x20, 0, 0, 0, 1];
    let mut frame = [&[0xff; 6][..], &mac, &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1], &mac].concat();
    frame.extend([10, 1, high, low, 0, 0, 0, 0, 0, 0, 10, 1, 0, 1]);
    frame.resize(60, 0);
    frame
}

/// A neighbour solicitation for the gateway fd00:1::1 from the next address of its subnet.
fn solicitation(number: u32) -> Vec<u8> {
    let mac = [0x02, 0x20, 0, 0, 0, 1];
    let (mut source, mut target, mut group) = ([0_u8; 16], [0_u8; 16], [0_u8; 16]);
    source[..4].copy_from_slice(&[0xfd, 0, 0, 1]);
    source[11] = 7;
    source[12..].copy_from_slice(&number.to_be_bytes());
    target[..4].copy_from_slice(&[0xfd, 0, 0, 1]);
    target[15] = 1;
    group[..2].copy_from_slice(&[0xff, 2]);
    group[11..].copy_from_slice(&[1, 0xff, 0, 0, 1]);
    let mut body = [&[135, 0, 0, 0, 0, 0, 0, 0][..], &target, &[1, 1], &mac].concat();
    let pseudo = [&source[..], &group, &[0, 0, 0, 32, 0, 0, 0, 58], &body].concat();
    let sum: u32 = pseudo.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).expect("16 bits");
    body[2..4].copy_from_slice(&checksum.to_be_bytes());
    let ethernet = [&[0x33, 0x33, 0xff, 0, 0, 1][..], &mac, &[0x86, 0xdd]].concat();
    [&ethernet[..], &[0x60, 0, 0, 0, 0, 32, 58, 255], &source, &group, &body].concat()
}

/// The networks of the attacker and of others, and pods of the latter: one that runs, one that
/// starts during the flood.
struct Scene {
    blue: NodeNetwork,
    running: Pod,
    new: Pod,
    desired: Desired,
}

impl Scene {
    fn new(switch: &VppSwitch) -> Self {
        let blue = with_gateway(&switch.network("blue"), &["10.1.0.1/16", "fd00:1::1/64"], None);
        let red = with_gateway(&switch.network("red"), &["10.2.0.1/16", "fd00:2::1/64"], None);
        let running = Pod::new("c2", &red, ["10.2.0.2", "fd00:2::2"]);
        let new = Pod::new("c3", &red, ["10.2.0.3", "fd00:2::3"]);
        let networks = [blue.clone(), red];
        let pods = [&running, &new].map(|pod| (pod.container, &pod.network));
        let desired = switch.with_pods(switch.desired(&networks, &["c1"]), pods);
        running.configure();
        converge(&mut switch.engine(), &desired);
        Self { blue, running, new, desired }
    }

    /// Floods while pods of the other network reach their gateway; then VPP runs, and has not taken
    /// too much memory. Returns how many frames were sent.
    fn endure(&self, switch: &VppSwitch, frame: impl Fn(u32) -> Vec<u8> + Send + Sync, each_poll: impl Fn()) -> u64 {
        for gateway in ["10.2.0.1", "fd00:2::1"] {
            assert_eq!(self.running.ping(gateway), 5, "{gateway}");
        }
        let (before, flood) = (resident(switch), Flood::default());
        let device = port_name("c1").as_str().replace("vhu", "pod");
        std::thread::scope(|scope| {
            let running = flood.start(scope, (device, None), &frame);
            let count = u32::try_from(length().as_secs() * 10).expect("a number");
            let pings = ["10.2.0.1", "fd00:2::1"]
                .map(|gateway| (gateway, scope.spawn(move || self.running.echo(gateway, count))));
            let started = Instant::now();
            let mut is_new_there = false;
            while started.elapsed() < length() {
                std::thread::sleep(POLL.min(length() / 2));
                each_poll();
                if !std::mem::replace(&mut is_new_there, true) {
                    self.new.configure();
                    for gateway in ["10.2.0.1", "fd00:2::1"] {
                        assert_ne!(self.new.echo(gateway, 10), 0, "a new pod of another network to {gateway}");
                    }
                }
            }
            for (gateway, ping) in pings {
                assert_eq!(ping.join().expect("a count"), count, "a running pod of another network to {gateway}");
            }
            drop(running);
        });
        let after = resident(switch);
        #[allow(clippy::print_stderr, reason = "the figures of a long flood")]
        {
            eprintln!("{} frames; {before} KiB before, {after} KiB after", flood.sent());
        }
        assert!(after < before + MORE_MEMORY, "{after} KiB, {before} before");
        flood.sent()
    }
}

pub(crate) fn a_flood_of_mac_addresses_fills_the_table_of_its_network_only(switch: &mut VppSwitch) {
    let scene = Scene::new(switch);
    let sent = scene.endure(switch, of_mac_addresses, || {});
    let bd_id = domain_id(bridge(&scene.blue));
    let learned = switch.other_client().dump(L2FibTableDump { bd_id }).len();
    let limit = usize::try_from(scene.blue.bridge.mac_table_size.get()).expect("a size");
    assert!(sent > limit as u64 * 2, "only {sent} frames were sent");
    // Its gateway and its port's own address are there as well.
    assert!((limit..limit + 8).contains(&learned), "{learned} of {limit}");
}

fn flood_of_neighbours(switch: &VppSwitch, frame: impl Fn(u32) -> Vec<u8> + Send + Sync) {
    let scene = Scene::new(switch);
    let holds = Cell::new(0);
    scene.endure(switch, frame, || {
        let mut engine = switch.engine();
        let observed = observe(&mut engine);
        let is_excess = holds.get() > 0 || observed.routing.gateways[&scene.blue.name].excess.is_some();
        if is_excess {
            holds.set(holds.get() + 1);
        }
        // As the agent does, for 30 s at first.
        let held: BTreeSet<_> = is_excess.then(|| scene.blue.name.clone()).into_iter().collect();
        converge(&mut engine, &scene.desired.clone().with_held_gateways(held));
    });
    assert_ne!(holds.get(), 0, "the flood was not found");
}

pub(crate) fn a_flood_of_arp_requests_costs_its_own_gateway_only(switch: &mut VppSwitch) {
    flood_of_neighbours(switch, arp_frame);
}

pub(crate) fn a_flood_of_neighbour_solicitations_costs_its_own_gateway_only(switch: &mut VppSwitch) {
    flood_of_neighbours(switch, solicitation);
}
