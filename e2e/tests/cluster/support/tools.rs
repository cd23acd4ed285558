//! Runs usnet's test program in pods.

use super::cluster::{check, eventually, try_run};
use super::scene::Scene;
use serde_json::Value;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of the next stream: each exchange has its own streams, because frames of an earlier
/// one may still arrive.
static STREAMS: AtomicU32 = AtomicU32::new(2);

/// Runs a command of the test program in a pod, whose exit status must be 0.
pub(crate) fn run_tool(scene: &Scene, pod: &str, command: &[&str]) -> Result<Value, String> {
    let exec = ["exec", pod, "-n", &scene.name, "--", "usnet-tools"];
    let text = try_run("kubectl", &[&exec[..], command].concat(), "")?;
    serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))
}

/// Sends frames of two sizes from a pod to another, none of which may be lost or duplicated, and
/// pings the other if it has an address.
#[track_caller]
pub(crate) fn exchange(scene: &Scene, from: &str, to: &str, frames: u32) {
    let count = &format!("--count={frames}");
    // The rings of a program work only some time after it connects.
    eventually("a frame arrives", || {
        run_tool(scene, from, &["send", "--stream=1", "--count=1"])?;
        let received = run_tool(scene, to, &["receive", "--stream=1", "--count=1", "--timeout=200"]);
        received
            .map(drop)
            .or_else(|error| check(error.contains("\"duplicates\":") && !error.contains("\"received\":0"), error))
    });
    for size in ["--size=64", "--size=1500"] {
        let stream = &format!("--stream={}", STREAMS.fetch_add(1, Ordering::Relaxed));
        run_tool(scene, from, &["send", stream, size, count]).unwrap();
        let received = run_tool(scene, to, &["receive", stream, count]).unwrap();
        println!("{from} to {to}, {size}: {received}");
    }
    if let Some(answers) = ping(scene, from, to).unwrap() {
        println!("{from} to {to}: {answers}");
    }
}

/// Pings a pod's first address from another pod; nothing without an address.
pub(crate) fn ping(scene: &Scene, from: &str, to: &str) -> Result<Option<Value>, String> {
    let description = run_tool(scene, to, &["show"])?;
    let address = description["addresses"][0].as_str().and_then(|address| address.split('/').next());
    address.map(|address| run_tool(scene, from, &["ping", address])).transpose()
}
