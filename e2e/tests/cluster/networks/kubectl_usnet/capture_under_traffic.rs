//! The effect of a capture on the captured traffic: datagrams at a steady rate are counted without
//! it, and while it starts, copies and ends.

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
    // The node's mounts tell its processes from those of others.
    let mounts = r#"[ "$(readlink /proc/$pid/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ]"#;
    let script = format!("for pid in $(pgrep -f '{program}'); do {mounts} && cat /proc/$pid/stat; done; true");
    let stat = on_node(NODE, &["sh", "-c", &script]);
    assert_eq!(stat.lines().count(), 1, "{stat}");
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

/// How much of what a switch forwards may be lost while a capture starts or ends, and Open vSwitch
/// adds or removes a port: 0.1 s of the stream each.
const TOLERATED: u64 = 40;

/// What was counted in an interval, with the engine's processor time as its share of the time.
struct Interval {
    lost: u64,
    report: String,
}

/// Counts datagrams of a stream from before an action until at least [`DATAGRAMS`] later.
fn counted(stream: &Stream, engine: &str, action: impl FnOnce()) -> Interval {
    let (first, before, started) = (stream.begin(), ticks(engine), Instant::now());
    action();
    stream.await_sent(first, DATAGRAMS);
    let sample = stream.end(first);
    let (used, passed) = (Duration::from_millis(10 * (ticks(engine) - before)), started.elapsed());
    assert!(sample.packets >= DATAGRAMS && sample.duplicates == 0, "{sample:?}");
    let lost = sample.lost.unwrap();
    let share = 100.0 * used.as_secs_f64() / passed.as_secs_f64();
    Interval {
        lost,
        report: format!("{lost} of {} lost, gap {:.0?}, {share:.0} % of a CPU", sample.packets, sample.gap),
    }
}

fn copies_lose_nothing(scene: &Scene, engine: &'static str, program: &str) {
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
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.pcapng");
    let pod = format!("{}/{}", scene.name, names[0]);
    let mut running = None;
    let without = counted(&stream, program, || ());
    let start = counted(&stream, program, || running = Some(capture(&pod, &path)));
    let copied = counted(&stream, program, || ());
    let end = counted(&stream, program, || {
        let mut running = running.take().unwrap();
        running.kill().unwrap();
        running.wait().unwrap();
        await_no_copies();
    });
    for (what, interval) in [("no capture", &without), ("starts", &start), ("copies", &copied), ("ends", &end)] {
        println!("{engine}, {what}: {}", interval.report);
    }
    assert_eq!((without.lost, copied.lost), (0, 0));
    assert!(start.lost <= TOLERATED && end.lost <= TOLERATED);
    let lines = read_by_tcpdump(&complete(&fs::read(&path).unwrap()));
    let frames = lines.iter().filter(|line| line.contains(&format!("> {}.7000", to.address))).count();
    println!("{engine}: tcpdump reads {frames} of its frames");
    assert!(frames as u64 >= DATAGRAMS, "{frames}");
}

/// Waits until the node has no socket of a capture.
fn await_no_copies() {
    eventually("nothing of the capture is left", || {
        let sockets = on_node(NODE, &["sh", "-c", "ls /run/usnet/capture 2>/dev/null || true"]);
        check(sockets.trim().is_empty(), sockets)
    });
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
fn while_frames_are_copied_none_is_lost() {
    let scene = Scene::new("ask-copies");
    copies_lose_nothing(&scene, "OVS", "^[^ ]*ovs-vswitchd");
    if vpp::moves_packets("frames of a veth of VPP under capture") {
        copies_lose_nothing(&scene, "VPP", "^[^ ]*vpp ");
    }
}
