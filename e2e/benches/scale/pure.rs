//! Compile and diff in this process: one changed network among few and among many, and the memory of many.

use std::time::{Duration, Instant};

use usnet_operator::controller::compile::compile;

use crate::simulation::Simulation;
use crate::{memory, report};

const NODES: usize = 1000;
const SIZES: [usize; 2] = [10, 1000];
const ROUNDS: usize = 25;

pub(crate) fn run() {
    println!("\nThe controller's passes, {NODES} nodes, median of {ROUNDS}");
    let mut simulations = Vec::new();
    for networks in SIZES {
        let (before, start) = (memory("self").0, Instant::now());
        let simulation = Simulation::settled(networks, NODES);
        report(
            &format!("{networks} networks, from nothing to settled"),
            format!("{:.0} ms", milliseconds(start.elapsed())),
        );
        let grown = memory("self").0 - before;
        report(&format!("{networks} networks, resident memory of inputs and ledger"), format!("{grown:.0} MiB"));
        simulations.push(simulation);
    }
    let mut took = [Vec::new(), Vec::new()];
    for round in 0..ROUNDS {
        for (simulation, took) in simulations.iter_mut().zip(&mut took) {
            simulation.change(round % SIZES[0], if round % 20 < 10 { 9000 } else { 1400 });
            let (duration, writes) = simulation.settle();
            assert!(writes > NODES, "a changed network is written to all nodes, and its status: {writes}");
            took.push(duration);
        }
    }
    let medians = took.map(|mut took| {
        took.sort_unstable();
        took[took.len() / 2]
    });
    for (networks, median) in SIZES.iter().zip(medians) {
        report(
            &format!("{networks} networks, one changes: all passes until it is Ready"),
            format!("{:.2} ms", milliseconds(median)),
        );
    }
    report(
        "the same with 1000 / with 10 networks (aim: <= 2)",
        format!("{:.2} x", medians[1].as_secs_f64() / medians[0].as_secs_f64()),
    );
    for (networks, simulation) in SIZES.iter().zip(&simulations) {
        let start = Instant::now();
        let compiled = compile(&simulation.inputs);
        let took = start.elapsed();
        assert_eq!(compiled.nodes.len(), NODES);
        report(
            &format!("{networks} networks, everything compiled from scratch once"),
            format!("{:.2} ms", milliseconds(took)),
        );
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
