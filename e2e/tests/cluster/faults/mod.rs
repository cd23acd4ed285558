//! Parts of the system are killed, removed or broken while pods send, and the lost packets are
//! counted.
//!
//! `make faults` inflicts every fault in three rounds, and `make test` some of them once;
//! `USNET_FAULT_ROUNDS` sets the number of rounds, and `USNET_FAULTS` selects faults by a part of
//! their names. docs/faults.md describes the test.

mod agents;
mod disk;
mod engine;
mod fault;
mod inventory;
mod program;
mod reboot;
mod sandbox;
mod table;
mod traffic;

use crate::support::cluster::{check, eventually};
use crate::support::pods::{NODE, remains, uid};
use crate::support::scene::{self, Scene, wait_ready};
use disk::SmallDisks;
use fault::Fault;
use inventory::Inventory;
use serde_json::json;
use std::panic::{AssertUnwindSafe, catch_unwind};
use table::{Row, Table};
use traffic::Traffic;

/// A network of this test.
struct Network {
    name: &'static str,
    engine: &'static str,
    port: &'static str,
    /// Its pods. Numbered datagrams go from the first to the second of those with `Veth`; the
    /// others have DPDK programs.
    pods: usize,
}

/// Ten pods, on both engines.
const NETWORKS: [Network; 4] = [
    Network { name: "faults-ovs", engine: "OVS", port: "Veth", pods: 2 },
    Network { name: "faults-vpp", engine: "VPP", port: "Veth", pods: 2 },
    Network { name: "faults-vhost", engine: "OVS", port: "VhostUser", pods: 3 },
    Network { name: "faults-memif", engine: "VPP", port: "Memif", pods: 3 },
];

impl Network {
    fn pod_names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.pods).map(|number| format!("{}-{number}", self.name))
    }
}

/// The networks of an engine; of both for none.
fn networks_of(engine: Option<&str>) -> Vec<&'static str> {
    let is_meant = |network: &&Network| engine.is_none_or(|engine| network.engine == engine);
    NETWORKS.iter().filter(is_meant).map(|network| network.name).collect()
}

#[test]
#[ignore = "long: make nightly"]
fn running_pods_lose_packets_only_with_their_engine_and_nothing_is_left() {
    let rounds: Option<usize> = std::env::var("USNET_FAULT_ROUNDS").ok().map(|rounds| rounds.parse().unwrap());
    let faults = if rounds.is_some() { fault::ALL.as_slice() } else { fault::SHORT.as_slice() };
    let chosen = std::env::var("USNET_FAULTS").unwrap_or_default();
    let faults: Vec<Fault> = faults.iter().copied().filter(|fault| fault.name().contains(&chosen)).collect();
    // Dropped last, after all pods and networks.
    let disks = faults.iter().any(|fault| matches!(fault, Fault::Disk(_))).then(SmallDisks::mount);
    let scene = Scene::new("faults");
    for (index, network) in NETWORKS.iter().enumerate() {
        let ipam = json!({"type": "host-local", "ranges": [[{"subnet": format!("10.58.{index}.0/24")}]]});
        let (engine, port) = (network.engine, network.port);
        scene.network(network.name, &json!({"engine": engine, "port": {"type": port}, "ipam": ipam}));
    }
    let pods: Vec<String> = NETWORKS.iter().flat_map(Network::pod_names).collect();
    let mut traffic = Traffic::start(&scene);
    let uids: Vec<String> = pods.iter().map(|pod| uid(&scene, pod)).collect();
    let before = Inventory::of_all_pods();

    let mut table = Table::default();
    for round in 1..=rounds.unwrap_or(1) {
        for fault in &faults {
            // What the others cost is worth knowing if one of them is not survived.
            match catch_unwind(AssertUnwindSafe(|| measure(*fault, &scene, &mut traffic, &before))) {
                Ok(row) => {
                    println!("round {round}: {row}");
                    table.add(row);
                }
                Err(_) => table.fail(format!("{}: did not recover in round {round}, as said above", fault.name())),
            }
        }
    }
    println!("{table}");
    let failed = table.failures();
    assert!(failed.is_empty(), "{failed:#?}\n{}", fault::logs());

    drop(traffic);
    scene.delete_pods(pods.iter().map(String::as_str));
    for uid in &uids {
        eventually("everything of the pod is gone", || check(remains(uid).is_empty(), remains(uid)));
    }
    drop(scene);
    let left: Vec<String> = NETWORKS.iter().flat_map(|network| scene::remains(network.name)).collect();
    assert_eq!(left, Vec::<String>::new());
    drop(disks);
}

/// Inflicts a fault under traffic and waits until nothing of it is to be seen.
fn measure(fault: Fault, scene: &Scene, traffic: &mut Traffic, before: &Inventory) -> Row {
    let networks = networks_of(None);
    networks.iter().for_each(|network| wait_ready(network));
    println!("{} on {NODE}", fault.name());
    let start = traffic.begin();
    let transitions = fault::transitions(&networks);
    let recovery = fault.inflict(scene, traffic);
    networks.iter().for_each(|network| wait_ready(network));
    let stayed_ready = fault::transitions(&networks) == transitions;
    let left = before.await_again();
    let samples = traffic.end(&start);
    Row { fault, samples, recovery, stayed_ready, left }
}
