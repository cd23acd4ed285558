//! What a capture costs the traffic that it copies: datagrams at a steady rate are counted without
//! it and while it starts, copies and ends.

use crate::support::capture::read_by_tcpdump;
use crate::support::cluster::{check, eventually, on_node};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use crate::support::stream::Stream;
use crate::support::vpp;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Two seconds of a stream.
const DATAGRAMS: u64 = 400;

/// Processor time of the engine's process on the node, in ticks of 10 ms.
fn ticks(program: &str) -> u64 {
    let stat = on_node(NODE, &["sh", "-c", &format!("cat /proc/$(pgrep -o -f '{program}')/stat")]);
    // The program's name may have spaces.
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

/// A capture of what the pod sends, which has begun.
fn capture(pod: &str, file: &Path) -> Child {
    let limits = ["--direction=sent", "--seconds=60", "--count=1000000", "--write", file.to_str().unwrap()];
    let mut command = Command::new("kubectl");
    command.args(["usnet", "capture", pod, "net1"]).args(limits).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut program = command.spawn().unwrap();
    eventually("a capture that has begun", || {
        let ended = program.try_wait().unwrap();
        assert!(ended.is_none(), "{ended:?}");
        let size = fs::metadata(file).map_or(0, |metadata| metadata.len());
        check(size > 1000, format!("{size} bytes"))
    });
    program
}

/// Counts datagrams of a stream during an action that ends after [`DATAGRAMS`] of them; gives the
/// engine's processor time as well, as its share of the time.
fn counted(stream: &Stream, engine: &str, action: impl FnOnce(&dyn Fn())) -> String {
    let (first, before, started) = (stream.begin(), ticks(engine), Instant::now());
    action(&|| stream.await_sent(first, DATAGRAMS));
    let sample = stream.end(first);
    let (used, passed) = (Duration::from_millis(10 * (ticks(engine) - before)), started.elapsed());
    assert_eq!((sample.lost, sample.duplicates), (Some(0), 0), "{sample:?}");
    assert!(sample.packets >= DATAGRAMS, "{sample:?}");
    let share = 100.0 * used.as_secs_f64() / passed.as_secs_f64();
    format!("0 of {} lost, longest gap {:?}, {share:.0} % of a CPU", sample.packets, sample.gap)
}

fn copies_cost_no_datagram(scene: &Scene, engine: &'static str, program: &str) {
    let network = format!("ask-copies-{}", engine.to_lowercase());
    let subnet = if engine == "OVS" { "10.56.43.0/24" } else { "10.56.44.0/24" };
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": subnet}]]});
    scene.network(&network, &json!({"engine": engine, "port": {"type": "Veth"}, "ipam": ipam}));
    let names = ["from", "to"].map(|role| format!("{role}-{}", engine.to_lowercase()));
    for name in &names {
        start(scene, &sleeping_pod(scene, name, &network));
    }
    let [from, to] = names.each_ref().map(|name| Station::of_pod(scene, name));
    let stream = Stream::start(engine, &from, &to);
    println!("{engine}, no capture: {}", counted(&stream, program, |wait| wait()));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.pcapng");
    let pod = format!("{}/{}", scene.name, names[0]);
    let report = counted(&stream, program, |wait| {
        let mut running = capture(&pod, &path);
        wait();
        running.kill().unwrap();
        running.wait().unwrap();
    });
    let lines = read_by_tcpdump(&complete(&fs::read(&path).unwrap()));
    let frames = lines.iter().filter(|line| line.contains(&format!("> {}.7000", to.address))).count();
    println!("{engine}, captured: {report}; tcpdump reads {frames} of its frames");
    assert!(frames as u64 >= DATAGRAMS, "{frames}");
}

/// The blocks of a file whose writer was killed while it wrote the last one.
fn complete(file: &[u8]) -> Vec<u8> {
    let mut end = 0;
    while let Some(length) = file.get(end + 4..end + 8) {
        let next = end + u32::from_le_bytes(length.try_into().unwrap()) as usize;
        if next > file.len() {
            break;
        }
        end = next;
    }
    file[..end].to_vec()
}

#[test]
fn a_capture_costs_the_captured_interface_no_frame() {
    let scene = Scene::new("ask-copies");
    copies_cost_no_datagram(&scene, "OVS", "^([^ ]*/)?ovs-vswitchd");
    if vpp::moves_packets("frames of a veth of VPP under capture") {
        copies_cost_no_datagram(&scene, "VPP", "^([^ ]*/)?vpp ");
    }
}
