//! A week of life: networks, namespaces, nodes, definitions and pods come, change and go, parts are killed, and somebody else works on the same
//! engines; all in an order that follows from a seed. In the end everything has to be as people wrote it, what is somebody else's as they left it, and after
//! all is deleted nothing of ours may be left.
//!
//! `USNET_LIFE_SEED` lives a week again, `USNET_LIFE_STEPS` makes it longer; `make life` lives a long one.

mod converged;
mod foreign;
mod names;
mod pods;
mod run;
mod steps;

use crate::cluster::{NODES, check, eventually_within, run as run_program, try_run};
use crate::direct::DirectPods;
use foreign::Foreign;
use pods::{Call, Pods};
use run::Week;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::{Duration, Instant};
use steps::{GHOSTS, NAMESPACES, PODS};

/// The steps of a week when nobody says how many: what `make test` has time for.
const STEPS: usize = 200;
/// How long all may take to settle: the longest back-offs of all parts after each other.
const SETTLING: Duration = Duration::from_secs(180);

#[test]
fn a_week_of_life_ends_as_people_wrote_it() {
    let seed = setting("USNET_LIFE_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let count = setting("USNET_LIFE_STEPS").unwrap_or(STEPS);
    println!("seed {seed}, {count} steps: live it again with USNET_LIFE_SEED={seed} USNET_LIFE_STEPS={count}");
    let nodes = NODES.map(|node| DirectPods::new(node, "life"));
    std::thread::scope(|scope| {
        let mut week = Week {
            pods: Pods::start(scope, &nodes),
            foreign: Foreign::default(),
            definitions: BTreeMap::new(),
            taken: BTreeMap::new(),
            impossible: BTreeMap::new(),
        };
        let start = Instant::now();
        for (number, step) in steps::steps(seed, count).into_iter().enumerate() {
            println!("{number:5} {:6.1} s {step:?}", start.elapsed().as_secs_f32());
            week.take(step);
        }
        println!("{count} steps took {:.0} s", start.elapsed().as_secs_f32());
        settle(&week);
        week.foreign.assert_unchanged();
        week.assert_definitions_unchanged();
        wind_down(week);
    });
    drop(nodes);
    for node in NODES {
        let label = try_run("kubectl", &["label", "node", node, "zone-"], "");
        assert!(label.is_ok(), "{label:?}");
    }
}

/// Waits until nothing is on its way any more and all is as it was written.
fn settle(week: &Week<'_>) {
    let start = Instant::now();
    // Not of the agents: the nodes without anything behind them will never have one.
    run_program(
        "kubectl",
        &["rollout", "status", "-n", "usnet-system", "deployment/usnet-controller", "--timeout=180s"],
    );
    eventually_within(SETTLING, "all is as it was written", || converged::complaint(week));
    println!("settled after {:.1} s", start.elapsed().as_secs_f32());
}

/// Everything goes, and nothing of ours may be left.
fn wind_down(mut week: Week<'_>) {
    (0..PODS).for_each(|pod| week.pods.call(pod, Call::Delete));
    let Week { pods, taken, impossible, .. } = week;
    for (kind, count) in &taken {
        println!("{count:5} × {kind}, {} of them not possible then", impossible.get(kind).unwrap_or(&0));
    }
    for (outcome, count) in pods.end() {
        println!("{count:5} × {outcome}");
    }
    println!("{} bridges of somebody else are as they were made", week.foreign.len());
    delete("usn", run::all_networks());
    delete("namespace", (0..NAMESPACES).map(names::namespace));
    delete("node", (0..GHOSTS).map(names::ghost));
    eventually_within(SETTLING, "nothing is left", || {
        let left = converged::leftovers();
        check(left.is_empty(), format!("{left:?}"))
    });
    week.foreign.assert_unchanged();
    week.foreign.remove_all();
}

fn delete(kind: &str, names: impl Iterator<Item = String>) {
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    run_program("kubectl", &[&["delete", kind, "--ignore-not-found", "--wait=false"], names.as_slice()].concat());
}

fn setting<T: FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}
