//! Fifty pods of one node that are created together and deleted together.

use crate::support::direct_cni::DirectPods;
use crate::support::pods::NODE;
use crate::support::scene::Scene;
use crate::support::vpp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

const PODS: usize = 50;

/// Calls the plugin for all pods at the same moment, and prints what that took each.
fn all_at_once(pods: &DirectPods, command: &str, network: &str) -> Vec<String> {
    let barrier = Barrier::new(PODS);
    let call = |number| {
        barrier.wait();
        let start = Instant::now();
        (pods.call(command, network, number), start.elapsed())
    };
    let call = &call;
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..PODS).map(|number| scope.spawn(move || call(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut times: Vec<Duration> = results.iter().map(|(_, time)| *time).collect();
    times.sort_unstable();
    println!("{PODS} × {command} at once: p50 {:?}, p99 {:?}", times[PODS / 2], times[PODS * 99 / 100]);
    results.into_iter().map(|(result, _)| result.unwrap_or_else(|error| panic!("{error}"))).collect()
}

#[test]
fn fifty_pods_come_and_go_at_once() {
    let scene = Scene::new("crowd");
    scene.network("crowd", &json!({"engine": "VPP"}));
    let pods = DirectPods::new(NODE, &scene.name);
    (0..PODS).for_each(|number| pods.create_volume(number));

    let results = all_at_once(&pods, "ADD", "crowd");
    let macs: BTreeSet<String> = results
        .iter()
        .map(|result| serde_json::from_str::<Value>(result).unwrap()["interfaces"][0]["mac"].to_string())
        .collect();
    assert_eq!(macs.len(), PODS, "each pod has an address of its own: {results:?}");
    let ports = vpp::ports(NODE, "crowd").unwrap();
    let marks: BTreeSet<&str> = ports.iter().map(|port| port.tag.as_str()).collect();
    assert_eq!((ports.len(), marks.len()), (PODS, PODS), "{ports:?}");
    assert!(!marks.contains(""), "{ports:?}");
    assert_ne!(pods.remains(), "");

    all_at_once(&pods, "DEL", "crowd");
    assert_eq!(vpp::ports(NODE, "crowd").unwrap().len(), 0);
    assert_eq!(pods.remains(), "");
}
