//! usnet's test program in pods.

use super::cluster::{check, eventually, try_run};
use super::scene::Scene;
use serde_json::Value;
use std::sync::atomic::{AtomicU32, Ordering};

/// Each exchange has streams of its own: frames of an earlier one are others.
static STREAMS: AtomicU32 = AtomicU32::new(2);

/// Runs a command of the test program in a pod, whose exit status must be 0.
pub(crate) fn ask(scene: &Scene, pod: &str, command: &[&str]) -> Result<Value, String> {
    let exec = ["exec", pod, "-n", &scene.name, "--", "usnet-tools"];
    let text = try_run("kubectl", &[&exec[..], command].concat(), "")?;
    serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))
}

/// So many frames of two sizes at once from a pod to another, none lost and none twice, and an
/// answer to each echo request if the other has an address.
#[track_caller]
pub(crate) fn exchange(scene: &Scene, from: &str, to: &str, frames: u32) {
    let count = &format!("--count={frames}");
    // The first frames after a program connects may come before its rings work.
    eventually("a frame arrives", || {
        ask(scene, from, &["send", "--stream=1", "--count=1"])?;
        let received = ask(scene, to, &["receive", "--stream=1", "--count=1", "--timeout=200"]);
        received
            .map(drop)
            .or_else(|error| check(error.contains("\"duplicates\":") && !error.contains("\"received\":0"), error))
    });
    for size in ["--size=64", "--size=1500"] {
        let stream = &format!("--stream={}", STREAMS.fetch_add(1, Ordering::Relaxed));
        ask(scene, from, &["send", stream, size, count]).unwrap();
        let received = ask(scene, to, &["receive", stream, count]).unwrap();
        println!("{from} to {to}, {size}: {received}");
    }
    let description = ask(scene, to, &["show"]).unwrap();
    if let Some(address) = description["addresses"][0].as_str() {
        let address = address.split('/').next().unwrap();
        println!("{from} to {to}: {}", ask(scene, from, &["ping", address]).unwrap());
    }
}
