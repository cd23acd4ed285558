//! `kubectl usnet capture`: frames of pods reach the user, and nothing is left on the node.

use super::list;
use crate::support::cluster::{check, eventually, on_node, vsctl};
use crate::support::kubectl_usnet::{ask, usnet};
use crate::support::pods::{NODE, await_packets, sleeping_pod, start, testpmd_pod};
use crate::support::scene::Scene;
use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

const NAME: &str = "captured";
const PACKET: u32 = 6;

/// Returns the number of frames in a file.
fn frames(mut file: &[u8]) -> usize {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(file, 0), 0x0a0d_0d0a, "pcapng");
    let mut frames = 0;
    while !file.is_empty() {
        let length = word(file, 4) as usize;
        if word(file, 0) == PACKET {
            frames += 1;
        }
        file = &file[length..];
    }
    frames
}

fn mirrors() -> String {
    vsctl(NODE, &["--bare", "--columns=name", "list", "Mirror"])
}

/// A capture without limits, some frames of which have come.
fn capture_endlessly() -> (Child, ChildStdout) {
    let endless = ["--seconds", "3600", "--count", "1000000000", "--bytes", "1000000000000"];
    let mut command = Command::new("kubectl");
    command.args(["usnet", "capture", "captured/left", "net1"]).args(endless).stdout(Stdio::piped());
    let mut program = command.stdin(Stdio::null()).spawn().unwrap();
    let mut stdout = program.stdout.take().unwrap();
    stdout.read_exact(&mut vec![0; 100_000]).unwrap();
    (program, stdout)
}

#[track_caller]
fn await_no_mirror() {
    eventually("nothing of the capture is left", || check(mirrors().trim().is_empty(), mirrors()));
    let ports = vsctl(NODE, &["list-ports", "br-captured"]);
    assert_eq!(ports.lines().count(), 2, "{ports}");
}

/// Nothing comes for longer than a response may take.
fn capture_silence(scene: &Scene, path: &Path) {
    start(scene, &sleeping_pod(scene, "silent", NAME));
    let limits = ["--direction", "sent", "--seconds", "6", "--request-timeout", "3", "--write", path.to_str().unwrap()];
    let started = Instant::now();
    let silent = usnet(&[["capture", "captured/silent", "net1"].as_slice(), &limits].concat());
    println!("an interface without frames: 6 s end after {:.1?}", started.elapsed());
    assert_eq!(silent.status, 0, "{silent:?}");
    for words in ["5 s, 0 frames; Ctrl-C ends", "0 frames captured", "the limit of --seconds is reached"] {
        assert!(silent.stderr.contains(words), "{silent:?}");
    }
    assert_eq!(frames(&std::fs::read(path).unwrap()), 0);
}

#[test]
fn a_capture_streams_frames_until_its_user_ends_it() {
    let scene = Scene::new(NAME);
    scene.network(NAME, &serde_json::json!({}));
    for pod in ["left", "right"] {
        start(&scene, &testpmd_pod(&scene, pod, NAME, "flowgen"));
    }
    await_packets(&scene, "left", 1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.pcapng");
    for direction in ["sent", "received", "both"] {
        let limits = ["--count", "500", "--direction", direction, "--write", path.to_str().unwrap()];
        let answer = usnet(&[["capture", "captured/left", "net1"].as_slice(), &limits].concat());
        assert_eq!(answer.status, 0, "{answer:?}");
        assert!(answer.stderr.contains("500 frames captured"), "{answer:?}");
        println!("{direction}: {}", answer.stderr.trim());
        assert_eq!(frames(&std::fs::read(&path).unwrap()), 500);
        await_no_mirror();
    }

    // A full disk.
    let full = usnet(&["capture", "captured/left", "net1", "--write", "/dev/full"]);
    assert!(full.status == 7 && full.stderr.contains("No space left on device"), "{full:?}");
    await_no_mirror();

    // The user's program is killed: the one on the node ends long before its limits.
    let (mut program, stdout) = capture_endlessly();
    let second = usnet(&["capture", "captured/left", "net1", "--count", "1", "--write", "/dev/null"]);
    assert!(second.status == 1 && second.stderr.contains("is captured already"), "{second:?}");
    program.kill().unwrap();
    let killed = Instant::now();
    program.wait().unwrap();
    drop(stdout);
    await_no_mirror();
    println!("kubectl was killed: clean after {:?}", killed.elapsed());

    // The program on the node is killed: the agent removes what it left, and says so.
    let (mut program, stdout) = capture_endlessly();
    on_node(NODE, &["sh", "-c", "kill -9 $(pgrep -f '^/usr/local/bin/usnet node capture captured/left')"]);
    let killed = Instant::now();
    await_no_mirror();
    println!("the program on the node was killed: clean after {:?}", killed.elapsed());
    drop(stdout);
    program.wait().unwrap();
    eventually("the history", || {
        let (_, report) = ask(&["history", "--node", NODE, "--network", NAME]);
        let changes = list(&report, "changes");
        check(changes.iter().any(|change| change["why"] == "CaptureAbandoned"), report.to_string())
    });

    capture_silence(&scene, &path);

    for (arguments, status, words) in [
        (["capture", "captured/left", "net7"], 1, "has no interface net7"),
        (["capture", "captured/lost", "net1"], 3, "there is no pod captured/lost"),
    ] {
        let answer = usnet(&arguments);
        assert_eq!(answer.status, status, "{answer:?}");
        assert!(answer.stderr.contains(words) && answer.stdout.is_empty(), "{answer:?}");
    }
}
