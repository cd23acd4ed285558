//! Numbered echo requests in both directions between two pods, all the time.

use super::pods::Pair;
use crate::support::cluster::try_run;
use crate::support::scene::Scene;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// The requests of one call, of which one is sent every five milliseconds.
const CALL: [&str; 2] = ["--count=300", "--interval=5"];

pub(super) struct Traffic {
    is_over: Arc<AtomicBool>,
    /// With the names of the senders.
    threads: Vec<(String, JoinHandle<Result<u64, String>>)>,
}

impl Traffic {
    pub(super) fn start(scene: &Scene, pairs: &[Pair]) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let mut threads = Vec::new();
        for pair in pairs {
            for (from, to) in [(&pair.left, &pair.right), (&pair.right, &pair.left)] {
                let (namespace, from, address) = (scene.name.clone(), from.name.clone(), to.address.clone());
                let (is_over, name) = (Arc::clone(&is_over), from.clone());
                threads.push((name, thread::spawn(move || send(&is_over, &namespace, &from, &address))));
            }
        }
        Self { is_over, threads }
    }

    /// Ends the traffic, of which nothing may be lost.
    #[track_caller]
    pub(super) fn stop(self, during: &str) {
        self.is_over.store(true, Ordering::SeqCst);
        for (from, thread) in self.threads {
            match thread.join().unwrap() {
                Ok(count) => println!("{from}: {count} echo requests {during}, none was lost"),
                Err(error) => panic!("{from}, {during}: {error}"),
            }
        }
    }
}

/// Returns the number of answered requests. An unanswered one is an error.
fn send(is_over: &AtomicBool, namespace: &str, from: &str, address: &str) -> Result<u64, String> {
    let mut count = 0;
    while !is_over.load(Ordering::SeqCst) {
        count += ping(namespace, from, address)?;
    }
    Ok(count)
}

fn ping(namespace: &str, from: &str, address: &str) -> Result<u64, String> {
    let command = ["exec", from, "-n", namespace, "--", "usnet-tools", "ping", address];
    let text = try_run("kubectl", &[&command[..], &CALL].concat(), "")?;
    let answer: Value = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
    answer["received"].as_u64().ok_or(text)
}

/// Whether two pods reach each other.
#[track_caller]
pub(super) fn assert_reachable(scene: &Scene, from: &str, address: &str) {
    ping(&scene.name, from, address).unwrap_or_else(|error| panic!("{from} to {address}: {error}"));
}
