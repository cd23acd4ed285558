//! Temporary: why single frames are lost.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::semicolon_if_nothing_returned)]

use super::changes::server;
use super::packets::UDP;
use super::scene::{Scene, ends, run};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn counters(scene: &Scene) -> BTreeMap<String, u64> {
    let text = scene.daemons.appctl(&["coverage/show"]).expect("ovs-appctl");
    let line = |line: &str| {
        let (name, total) = (line.split_whitespace().next()?, line.rsplit_once("total: ")?.1);
        Some((name.to_owned(), total.trim().parse().ok()?))
    };
    let mut all: BTreeMap<String, u64> = text.lines().filter_map(line).collect();
    for device in std::fs::read_to_string("/proc/thread-self/net/dev").unwrap().lines().skip(2) {
        let words: Vec<&str> = device.split_whitespace().collect();
        if words[0].starts_with("port-") || words[0].starts_with("end-") {
            for (name, place) in [("rxp", 2), ("rxdrop", 4), ("txp", 10), ("txdrop", 12)] {
                all.insert(format!("{}{name}", words[0]), words[place].parse().unwrap());
            }
        }
    }
    all
}

fn measure(scene: &mut Scene, what: &str, purge: bool) {
    let mut missed = 0;
    for number in 0..400_u16 {
        if purge {
            scene.enforce(&server(if number % 2 == 0 { 79 } else { 80 }, 80), &[]);
        }
        let before = counters(scene);
        let frame = ends("u", "b", true).first(UDP, [10_000 + number, 80]);
        let arrived = scene.arrived("u", &[frame]);
        if !arrived["b"].contains(&0) {
            missed += 1;
            let after = counters(scene);
            let delta: Vec<String> = after
                .iter()
                .filter_map(|(name, count)| {
                    let delta = count - before.get(name).copied().unwrap_or_default();
                    (delta > 0 && !name.starts_with("poll") && !name.contains("mutex"))
                        .then(|| format!("{name} +{delta}"))
                })
                .collect();
            println!("{what} {number}: {}", delta.join(", "));
        }
    }
    println!("{what}: {missed} of 400 missed");
}

#[test]
#[ignore = "to find out"]
fn lost_frames() {
    run(|scene| {
        scene.enforce(&server(80, 80), &[]);
        let stop = Arc::new(AtomicBool::new(false));
        let busy: Vec<_> = (0..6)
            .map(|_| {
                let stop = Arc::clone(&stop);
                std::thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop()
                    }
                })
            })
            .collect();
        measure(scene, "busy and enforced", true);
        stop.store(true, Ordering::Relaxed);
        busy.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
