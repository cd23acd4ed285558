//! Each part of the system is killed while pods send, and what that costs is counted packet by
//! packet.
//!
//! `make faults` does three rounds, `make test` one; `USNET_FAULT_ROUNDS` sets their number.

mod fault;
mod stream;

use crate::support::cluster::{check, eventually, get};
use crate::support::pods::{NODE, remains, sleeping_pod, start, uid};
use crate::support::scene::{self, Scene, wait_ready};
use crate::support::vpp;
use fault::{FAULTS, Fault, Recovery};
use serde_json::{Value, json};
use std::fmt;
use stream::{Count, Stream};

/// The networks: of each engine one with a stream between pods, and one with a socket.
const NETWORKS: [(&str, &str, &str); 4] = [
    ("faults-ovs", "OVS", "Veth"),
    ("faults-ovs-vhost", "OVS", "VhostUser"),
    ("faults-vpp", "VPP", "Veth"),
    ("faults-vpp-memif", "VPP", "Memif"),
];

/// One line of the table.
struct Row {
    round: usize,
    fault: Fault,
    stream: &'static str,
    count: Count,
    recovery: Option<Recovery>,
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { round, fault, stream, count, recovery } = self;
        let Count { sent, lost, duplicates, longest_gap } = count;
        let gap = longest_gap.as_secs_f64();
        write!(
            formatter,
            "{round:>5}  {:<14}  {stream:<12}  {sent:>6}  {lost:>5}  {duplicates:>10}  {gap:>8.3}",
            fault.name()
        )?;
        let Some(Recovery { not_ready, packets, ready }) = recovery else { return Ok(()) };
        let packets = packets.map_or_else(|| "-".to_owned(), |packets| format!("{:.3}", packets.as_secs_f64()));
        write!(formatter, "  {:>9.3}  {packets:>7}  {:>6.3}", not_ready.as_secs_f64(), ready.as_secs_f64())
    }
}

const HEAD: &str =
    "round  killed          stream          sent   lost  duplicates   gap (s)  not Ready  packets  Ready (s)";

#[test]
fn running_pods_lose_packets_only_with_their_engine_and_nothing_is_left() {
    let rounds = std::env::var("USNET_FAULT_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap());
    let scene = Scene::new("faults");
    for (index, (network, engine, port)) in NETWORKS.into_iter().enumerate() {
        let ipam = json!({"type": "host-local", "ranges": [[{"subnet": format!("10.58.{index}.0/24")}]]});
        scene.network(network, &json!({"engine": engine, "port": {"type": port}, "ipam": ipam}));
    }
    let pods = start_pods(&scene);
    let uids: Vec<String> = pods.iter().map(|pod| uid(&scene, pod)).collect();
    let streams = start_streams(&scene);

    let mut rows = Vec::new();
    for round in 1..=rounds {
        for fault in FAULTS {
            rows.extend(measure(round, fault, &streams));
        }
    }
    println!("{HEAD}");
    rows.iter().for_each(|row| println!("{row}"));
    for row in &rows {
        let is_whole = (row.count.lost, row.count.duplicates) == (0, 0);
        let is_interrupted = row.recovery.is_some_and(|recovery| recovery.packets.is_some());
        assert!(is_whole || is_interrupted, "{row}\n{}", fault::logs());
    }

    drop(streams);
    pods.iter().for_each(|pod| scene.delete_pod(pod));
    for uid in &uids {
        eventually("everything of the pod is gone", || check(remains(uid).is_empty(), remains(uid)));
    }
    drop(scene);
    let left: Vec<String> = NETWORKS.iter().flat_map(|(network, ..)| scene::remains(network)).collect();
    assert_eq!(left, Vec::<String>::new());
}

/// Ten pods: two on each network with a stream, three on each of the others.
fn start_pods(scene: &Scene) -> Vec<String> {
    let mut pods = Vec::new();
    for (network, _, port) in NETWORKS {
        let count = if port == "Veth" { 2 } else { 3 };
        pods.extend((0..count).map(|number| (format!("{network}-{number}"), network)));
    }
    for (pod, network) in &pods {
        start(scene, &sleeping_pod(scene, pod, network));
    }
    pods.into_iter().map(|(pod, _)| pod).collect()
}

/// A stream on each engine that moves packets.
fn start_streams(scene: &Scene) -> Vec<Stream> {
    let has_packets = |engine: &str| engine == "OVS" || vpp::moves_packets("packets over VPP during faults");
    let networks = NETWORKS.into_iter().filter(|(_, engine, port)| *port == "Veth" && has_packets(engine));
    let stream = |(network, ..): (&'static str, &str, &str)| {
        let [from, to] = [0, 1].map(|number| get(&["pod", &format!("{network}-{number}"), "-n", &scene.name]).unwrap());
        Stream::start(network, &process(&from), &process(&to), &address(&to))
    };
    networks.map(stream).collect()
}

fn process(pod: &Value) -> String {
    let id = pod["status"]["containerStatuses"][0]["containerID"].as_str().unwrap();
    stream::process(id.strip_prefix("containerd://").unwrap())
}

/// The pod's address on its network, as Multus wrote it.
fn address(pod: &Value) -> String {
    let status = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/network-status"].as_str().unwrap();
    let status: Value = serde_json::from_str(status).unwrap();
    let ours = status.as_array().unwrap().iter().find(|entry| entry["interface"] == "net1").unwrap();
    ours["ips"][0].as_str().unwrap().to_owned()
}

fn measure(round: usize, fault: Fault, streams: &[Stream]) -> Vec<Row> {
    let networks = NETWORKS.map(|(network, ..)| network);
    networks.iter().for_each(|network| wait_ready(network));
    let first: Vec<u64> = streams.iter().map(Stream::begin).collect();
    let recovery = fault.inflict(&networks, streams);
    let row = |(stream, first): (&Stream, u64)| {
        let recovery = recovery
            .map(|recovery| Recovery { packets: recovery.packets.filter(|_| fault.interrupts(stream)), ..recovery });
        Row { round, fault, stream: stream.name, count: stream.end(first), recovery }
    };
    println!("round {round}: {} on {NODE} recovered", fault.name());
    streams.iter().zip(first).map(row).collect()
}
