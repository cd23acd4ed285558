//! TCP between nodes whose NICs merge packets that they receive (generic receive offload), as all
//! real drivers do: engines drop packets beyond the MTU. A veth, which NICs of a test bed are, only
//! merges when it is asked to.

use super::is_long;
use super::measure::report;
use super::overlay;
use super::segment::{Segment, Variant};
use super::uplink;
use crate::support::cluster::{nodes, on_node};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::json;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// NICs that merge packets until this is dropped.
struct MergingNics(&'static str);

impl MergingNics {
    fn new(nic: &'static str) -> Self {
        set_merging(nic, "on");
        Self(nic)
    }
}

impl Drop for MergingNics {
    fn drop(&mut self) {
        set_merging(self.0, "off");
    }
}

fn set_merging(nic: &str, state: &str) {
    for node in nodes() {
        on_node(node, &["ethtool", "-K", nic, "gro", state]);
    }
}

/// Segments that this thread's network namespace has sent again.
fn retransmissions() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut pairs = names.split(' ').zip(values.split(' '));
    pairs.find(|(name, _)| *name == "RetransSegs").unwrap().1.parse().unwrap()
}

/// How long a number of bytes takes until all are received, and how many segments were sent again.
fn transfer(from: &Station, to: &Station, bytes: usize) -> (Duration, u64) {
    let address = format!("{}:7100", to.address);
    let listen = address.clone();
    let listener = to.run(move || TcpListener::bind(listen).unwrap()).join().unwrap();
    let sender = from.run(move || {
        let before = retransmissions();
        let start = Instant::now();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&vec![7; bytes]).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        // The other end closes when it has everything.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        (start.elapsed(), retransmissions() - before)
    });
    let (mut stream, _) = listener.accept().unwrap();
    let (mut received, mut buffer) = (0, vec![0; 64 << 10]);
    while received < bytes {
        match stream.read(&mut buffer).unwrap() {
            0 => break,
            read => received += read,
        }
    }
    drop(stream);
    assert_eq!(received, bytes);
    sender.join().unwrap()
}

/// What was measured for each size: the median time, and most segments that were sent again.
type Measured = Vec<(Duration, u64)>;

/// In MB, each with a number of runs: a short transfer varies more.
const SIZES: [(usize, usize); 2] = [(1, 21), (100, 3)];

fn measure(pods: &[Station]) -> Measured {
    let is_long = is_long("TCP of 100 MB between nodes whose NICs merge packets");
    let measure = |(megabytes, count): &(usize, usize)| {
        let mut runs: Vec<_> = (0..*count).map(|_| transfer(&pods[0], &pods[1], megabytes << 20)).collect();
        runs.sort();
        (runs[count / 2].0, runs.iter().map(|(_, sent_again)| *sent_again).max().unwrap())
    };
    SIZES.iter().take(if is_long { 2 } else { 1 }).map(measure).collect()
}

/// The NIC of overlays is the node's own: usnet leaves it as it is.
fn over_an_overlay(name: &'static str, variant: Variant) {
    let scene = Scene::new(name);
    let segment = Segment::create(&scene, name, variant, 41);
    let pods = segment.pods(&[0, 1]);
    let plain = measure(&pods);
    let merging = MergingNics::new("eth0");
    compare(variant, &plain, &measure(&pods));
    drop(merging);
    segment.delete(&pods);
}

/// The NIC of an uplink merges nothing while usnet has it.
fn over_an_uplink(name: &'static str, variant: Variant) {
    let scene = Scene::new(name);
    let measured = || {
        let uplink = uplink::uplink("fab", variant.engines[0], &json!(["100-199"]));
        let segment = Segment::create(&scene, name, variant, 41);
        let pods = segment.pods(&[0, 1]);
        let measured = measure(&pods);
        segment.delete(&pods);
        uplink::delete(uplink, "fab");
        measured
    };
    let plain = measured();
    let _merging = MergingNics::new("eth1");
    compare(variant, &plain, &measured());
}

fn compare(variant: Variant, plain: &Measured, merged: &Measured) {
    for ((megabytes, _), ((plain, before), (merged, after))) in SIZES.iter().zip(plain.iter().zip(merged)) {
        let ratio = merged.as_secs_f64() / plain.as_secs_f64();
        let cells = [format!("{megabytes} MB"), format!("{plain:.3?}"), format!("{merged:.3?}"), format!("{ratio:.2}")];
        let cells = [variant.name.to_owned()].into_iter().chain(cells).chain([format!("{before}, {after}")]).collect();
        let columns = &["segment", "TCP", "NIC as it is", "NIC that merges packets", "ratio", "segments sent again"];
        report::row("NICs that merge packets", columns, cells);
        // Where engines drop merged packets it is hundreds of times: each timeout sends one packet.
        assert!(ratio < 20.0 || *merged < Duration::from_secs(1), "{plain:?} and {merged:?}");
    }
}

#[test]
fn tcp_over_open_vswitch_is_not_slowed_down_by_nics_that_merge_packets() {
    over_an_overlay("merged-ovs", overlay::OVS);
    if is_long("TCP over uplinks whose NICs merged packets") {
        over_an_uplink("merged-ovs-up", uplink::OVS.vlan);
    }
}

#[test]
fn tcp_over_vpp_is_not_slowed_down_by_nics_that_merge_packets() {
    if overlay::VPP.moves_packets() {
        over_an_overlay("merged-vpp", overlay::VPP);
        if is_long("TCP over uplinks whose NICs merged packets") {
            over_an_uplink("merged-vpp-up", uplink::VPP.vlan);
        }
    }
}
