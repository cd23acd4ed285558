//! A soak test: networks, namespaces, nodes, NADs and pods are created, changed and deleted,
//! components are killed, and another client works on the same engines; all in an order that
//! follows from a seed. In the end everything has to be as declared, foreign objects untouched, and
//! after all is deleted nothing of usnet may be left.
//!
//! `USNET_LIFE_SEED` repeats a run, `USNET_LIFE_STEPS` sets its length; `make life` does a long
//! one.

mod actions;
mod checks;
mod cleanup;
mod foreign;
mod run;
mod steps;
mod trace;

use crate::support::cluster::{NODES, check, eventually_within, get, run as run_program};
use crate::support::direct_cni::DirectPods;
use actions::pods::{Call, Pods};
use checks::converged;
use cleanup::Cleanup;
use run::SoakRun;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::time::{Duration, Instant};
use steps::{FIRST_OLD, GHOSTS, NAMESPACES, PODS, Part, Step, names, seed};
use trace::Trace;

/// The steps of a run by default: what `make test` has time for.
const STEPS: usize = 200;
/// The steps of a run that is to fail.
const FEW_STEPS: usize = 80;
/// After so many steps each a long run says how far it is.
const PROGRESS: usize = 100;
/// The time limit for convergence: the sum of the longest back-offs of all parts.
const SETTLING: Duration = Duration::from_secs(180);

#[test]
fn a_run_ends_in_the_declared_state() {
    let seed = setting("USNET_LIFE_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let count = setting("USNET_LIFE_STEPS").unwrap_or(STEPS);
    println!("seed {seed}, {count} steps: repeat it with USNET_LIFE_SEED={seed} USNET_LIFE_STEPS={count}");
    execute(&seed::steps(seed, count), |run| {
        settle(&run);
        run.foreign.assert_unchanged();
        run.definitions.assert_unchanged();
        wind_down(run);
    });
}

#[test]
fn a_failed_run_leaves_nothing_behind() {
    let seed = fastrand::u64(..1_000_000);
    let mut steps = seed::steps(seed, FEW_STEPS);
    steps.truncate(FEW_STEPS);
    let (part, node) = (Part::Vpp, 1);
    steps.extend([Step::DeleteNode { node: 0 }, Step::StopEngine { node, part }, Step::StopApiServer]);
    println!("seed {seed}");
    let result = catch_unwind(AssertUnwindSafe(|| execute(&steps, |_| panic!("the run fails on purpose"))));
    let words = result.unwrap_err();
    assert_eq!(words.downcast_ref::<&str>(), Some(&"the run fails on purpose"));
    eventually_within(SETTLING, "nothing is left", || {
        let mut left = converged::leftovers();
        left.extend(NODES.into_iter().filter(|node| get(&["node", node]).is_none()).map(ToOwned::to_owned));
        left.extend((0..NAMESPACES).map(names::namespace).filter(|name| get(&["namespace", name]).is_some()));
        check(left.is_empty(), format!("{left:?}"))
    });
    NODES.iter().for_each(|node| drop(crate::support::vpp::connect(node).unwrap()));
}

/// Executes the steps of a run, and then the checks at its end.
fn execute(steps: &[Step], end: impl FnOnce(SoakRun<'_>)) {
    let nodes = NODES.map(|node| DirectPods::new(node, "life"));
    let trace = Trace::default();
    let cleanup = Cleanup { nodes: &nodes, trace: &trace };
    std::thread::scope(|scope| {
        let mut run = SoakRun::new(Pods::start(scope, &nodes, &trace), &trace);
        let start = Instant::now();
        for (number, step) in steps.iter().enumerate() {
            trace.note(format!("{number:5} {:6.1} s {step:?}", start.elapsed().as_secs_f32()));
            run.take(*step);
            if number % PROGRESS == PROGRESS - 1 {
                println!("{} steps after {:.0} s", number + 1, start.elapsed().as_secs_f32());
            }
        }
        let seconds = start.elapsed().as_secs_f32();
        println!("{} steps took {seconds:.0} s, {:.2} s each", steps.len(), seconds / steps.len() as f32);
        end(run);
    });
    drop(cleanup);
}

/// Waits until nothing is on its way any more and all is as it was written.
fn settle(run: &SoakRun<'_>) {
    let start = Instant::now();
    // Not of the agents: the nodes without anything behind them will never have one.
    run_program(
        "kubectl",
        &["rollout", "status", "-n", "usnet-system", "deployment/usnet-controller", "--timeout=180s"],
    );
    let reported = eventually_within(SETTLING, "all is as it was written", || converged::complaint(run));
    println!("settled after {:.1} s: {reported}", start.elapsed().as_secs_f32());
}

/// Everything goes, and nothing of ours may be left.
fn wind_down(mut run: SoakRun<'_>) {
    println!("unchanged: {} of the other client, and {} NADs", run.foreign.tell(), run.definitions.len());
    (0..PODS).for_each(|pod| run.pods.call(pod, Call::Delete));
    let SoakRun { pods, taken, .. } = run;
    for (kind, (count, impossible)) in &taken {
        println!("{count:5} × {kind}, {impossible} of them not possible then");
    }
    for (outcome, count) in pods.end() {
        println!("{count:5} × {outcome}");
    }
    run.foreign.remove_ports();
    delete("namespace", (0..NAMESPACES).map(names::namespace));
    delete("usn", (0..FIRST_OLD).map(names::network));
    delete("node", (0..GHOSTS).map(names::ghost));
    eventually_within(SETTLING, "nothing is left", || {
        let left = converged::leftovers();
        check(left.is_empty(), format!("{left:?}"))
    });
    run.foreign.assert_unchanged();
    run.foreign.remove_bridges();
}

fn delete(kind: &str, names: impl Iterator<Item = String>) {
    let names: Vec<String> = names.collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    run_program("kubectl", &[&["delete", kind, "--ignore-not-found", "--wait=false"], names.as_slice()].concat());
}

fn setting<T: FromStr>(variable: &str) -> Option<T> {
    std::env::var(variable).ok()?.parse().ok()
}
