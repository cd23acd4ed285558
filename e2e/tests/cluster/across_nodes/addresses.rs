//! Addresses that are unique across all nodes, assigned without the API server.

use super::is_long;
use super::measure::report;
use crate::outages::api_server::Outage;
use crate::support::cluster::nodes;
use crate::support::direct_cni::DirectPods;
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Pods of each node.
const PODS: usize = 100;

#[test]
fn a_hundred_pods_of_each_node_at_once_get_different_addresses_without_the_api_server() {
    if !is_long("a hundred pods of each node at once") {
        return;
    }
    let scene = Scene::new("across-prefix");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 25}});
    let spec = json!({"topology": {"type": "Overlay", "overlay": {}}, "port": {"type": "VhostUser"}, "ipam": ipam});
    scene.network("across-prefix", &spec);
    let pods: Vec<DirectPods> = nodes().into_iter().map(|node| DirectPods::new(node, &scene.name)).collect();
    pods.iter().for_each(|pods| (0..PODS).for_each(|number| pods.create_volume(number)));

    let outage = Outage::begin();
    let start = Instant::now();
    let results = at_once(&pods, "ADD");
    let took = start.elapsed();
    let _answers = at_once(&pods, "DEL");
    outage.end();

    let mut all = BTreeSet::new();
    for (node, results) in nodes().iter().zip(&results) {
        let addresses: BTreeSet<Ipv4Addr> = results.iter().map(|result| address(result)).collect();
        // The last seven bits are those of the node's part.
        let parts: BTreeSet<u32> = addresses.iter().map(|address| address.to_bits() >> 7).collect();
        assert_eq!((addresses.len(), parts.len()), (PODS, 1), "{node}: {addresses:?}");
        all.extend(addresses);
    }
    assert_eq!(all.len(), PODS * nodes().len(), "an address was assigned on two nodes");
    let cells = [nodes().len().to_string(), PODS.to_string(), all.len().to_string(), "0".to_owned()];
    let cells = cells.into_iter().chain([format!("{:.1}", took.as_secs_f64())]).collect();
    report::row("Addresses with nodePrefix, without the API server", &COLUMNS, cells);
}

const COLUMNS: [&str; 5] = ["nodes", "pods of each at once", "addresses", "assigned twice", "seconds"];

/// The plugin's answers for all pods of each node.
fn at_once(pods: &[DirectPods], verb: &str) -> Vec<Vec<String>> {
    let barrier = &Barrier::new(pods.len() * PODS);
    thread::scope(|scope| {
        let call = |pods, number| {
            scope.spawn(move || {
                barrier.wait();
                until_accepted(|| DirectPods::call(pods, verb, "across-prefix", number))
            })
        };
        let threads: Vec<Vec<_>> =
            pods.iter().map(|pods| (0..PODS).map(|number| call(pods, number)).collect()).collect();
        threads.into_iter().map(|threads| threads.into_iter().map(|it| it.join().unwrap()).collect()).collect()
    })
}

/// As a runtime does, which calls again after error 11: hundreds of calls at once can take the
/// switch of a busy machine longer than one call waits.
fn until_accepted(call: impl Fn() -> Result<String, String>) -> String {
    let start = Instant::now();
    loop {
        match call() {
            Err(error) if error.contains("usnet[11 ") && start.elapsed() < Duration::from_secs(60) => {}
            result => return result.unwrap(),
        }
    }
}

fn address(result: &str) -> Ipv4Addr {
    let result: Value = serde_json::from_str(result).unwrap();
    let address = result["ips"][0]["address"].as_str().unwrap();
    address.split('/').next().unwrap().parse().unwrap()
}
