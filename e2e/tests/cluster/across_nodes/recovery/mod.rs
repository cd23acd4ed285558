//! Broadcasts between pods on all nodes while programs of a node are killed and while it reboots:
//! when they arrive again, and that none arrives twice at any time.

mod fault;
mod streams;

use super::is_long;
use super::measure::report;
use super::overlay;
use super::segment::{Segment, Variant};
use super::uplink;
use crate::support::cluster::nodes;
use crate::support::scene::{Scene, wait_ready};
use fault::Fault;
use serde_json::json;
use std::time::{Duration, Instant};
use streams::Streams;

/// From the return of an engine until broadcasts of all pairs of nodes arrive again. A busy machine
/// may miss it.
const TARGET: Duration = Duration::from_secs(1);

const COLUMNS: [&str; 6] =
    ["fault of one node", "segment", "traffic again after", "lost there", "lost between others", "arrived twice"];

/// A segment, and the broadcasts of its pods.
struct Connected<'a> {
    segment: Segment<'a>,
    streams: Streams,
}

#[test]
fn traffic_between_nodes_comes_back_after_each_fault_and_no_broadcast_arrives_twice() {
    if is_long("faults under traffic between nodes") {
        let variants = [("faulty-ovs", overlay::OVS), ("faulty-vpp", overlay::VPP), ("faulty-vlan", uplink::OVS.vlan)];
        let variants = variants.into_iter().filter(|(_, variant)| variant.moves_packets());
        traffic_comes_back("across-faults", "OVS", &variants.collect::<Vec<_>>(), &fault::ALL);
    }
}

#[test]
fn traffic_over_uplinks_of_vpp_comes_back_after_each_fault_and_no_broadcast_arrives_twice() {
    let variant = uplink::VPP.vlan;
    if is_long("faults under traffic over uplinks of VPP") && variant.moves_packets() {
        traffic_comes_back("across-vfaults", "VPP", &[("faulty-vuplink", variant)], &fault::OF_VPP);
    }
}

/// Broadcasts in these segments, uplinks of this engine included, and each fault after the other.
fn traffic_comes_back(name: &str, engine: &str, variants: &[(&'static str, Variant)], faults: &[Fault]) {
    let scene = Scene::new(name);
    let fab = uplink::uplink("fab", engine, &json!(["100-199"]));
    let mut all: Vec<Connected<'_>> = variants
        .iter()
        .zip(1..)
        .map(|((name, variant), number)| {
            let segment = Segment::create(&scene, name, *variant, number);
            let pods = segment.pods(&(0..nodes().len()).collect::<Vec<_>>());
            Connected { segment, streams: Streams::start(pods) }
        })
        .collect();
    let node = nodes()[1];
    let mut failures = Vec::new();
    for fault in faults.iter().copied() {
        println!("{} on {node}", fault.name());
        for connected in &all {
            connected.streams.begin();
            // What is lost is counted from the first that arrived.
            connected.streams.await_all_after(Instant::now(), node);
        }
        let back = fault.inflict(&scene, node, &mut all);
        for connected in &all {
            failures.extend(measure(fault, node, back, connected));
        }
        let networks = all.iter().flat_map(|connected| connected.segment.networks());
        networks.for_each(|(_, network)| wait_ready(&network));
    }
    for Connected { segment, streams } in all {
        let pods = streams.end();
        segment.delete(&pods);
    }
    uplink::delete(fab, "fab");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The cost of a fault for a segment, and violations.
fn measure(fault: Fault, node: &str, back: Instant, connected: &Connected<'_>) -> Vec<String> {
    let Connected { segment, streams } = connected;
    let resumed = streams.await_all_after(back, node) - back;
    let count = streams.count(node);
    let is_interrupted = fault.interrupts(segment.variant.engines);
    let again = if is_interrupted { format!("{:.2} s", resumed.as_secs_f64()) } else { "–".to_owned() };
    let what = format!("{}: {}", fault.name(), segment.variant.name);
    if is_interrupted && fault.has_target() && resumed > TARGET {
        println!("TARGET MISSED: {what}: {resumed:.2?}, target {TARGET:?}");
    }
    let mut failures = Vec::new();
    if count.twice > 0 {
        failures.push(format!("{what}: {} broadcasts arrived twice", count.twice));
    }
    if count.lost_elsewhere > 0 || (!is_interrupted && count.lost > 0) {
        failures.push(format!("{what}: {count:?}"));
    }
    let cells = [count.lost, count.lost_elsewhere, count.twice].map(|count| count.to_string());
    let cells = [fault.name().to_owned(), segment.variant.name.to_owned(), again].into_iter().chain(cells);
    report::row("Faults under traffic between nodes", &COLUMNS, cells.collect());
    failures
}
