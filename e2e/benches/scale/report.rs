//! What is printed: each figure when it is known, and at the end what missed its aim.

use crate::measure::{Cpu, Figures, Peak};
use std::time::Duration;

/// What more networks may cost when one of them changes.
const SIZE_RATIO: f64 = 1.2;

/// All figures with an aim.
#[derive(Default)]
pub(crate) struct Report {
    scene: String,
    row: String,
    /// What one change cost the API server, by scene and number of networks.
    one_change: Vec<(String, usize, Cpu)>,
    met: usize,
    missed: Vec<String>,
}

impl Report {
    /// Begins a cluster.
    pub(crate) fn scene(&mut self, text: impl Into<String>) {
        self.scene = text.into();
        println!("\n=== {}", self.scene);
    }

    /// Begins a row.
    pub(crate) fn row(&mut self, text: impl Into<String>) {
        self.row = text.into();
        println!("\n{}", self.row);
    }

    /// A figure without an aim.
    pub(crate) fn figure(&self, what: &str, value: impl std::fmt::Display) {
        println!("  {what:<66} {value:>16}");
    }

    /// A figure that should be `aim` at most.
    pub(crate) fn at_most(&mut self, what: &str, aim: f64, value: f64, unit: &str) {
        let verdict = if value <= aim {
            self.met += 1;
            "met".to_owned()
        } else {
            let by = if aim > 0.0 { format!("{:.2} x the aim", value / aim) } else { format!("by {value:.0}") };
            self.miss(&format!("{what}: {}{unit}, aim {}{unit}", number(value), number(aim)));
            format!("MISSED: {by}")
        };
        println!("  {what:<66} {:>16}   aim <= {}{unit}: {verdict}", format!("{}{unit}", number(value)), number(aim));
    }

    /// A count that should be `aim`, neither more nor less.
    pub(crate) fn exactly(&mut self, what: &str, aim: usize, value: usize) {
        let verdict = if value == aim {
            self.met += 1;
            "met"
        } else {
            self.miss(&format!("{what}: {value}, aim {aim}"));
            "MISSED"
        };
        println!("  {what:<66} {value:>16}   aim = {aim}: {verdict}");
    }

    /// A time that should be `aim` at most; none when it did not come to an end.
    pub(crate) fn within(&mut self, what: &str, aim: Duration, took: Option<Duration>) {
        match took {
            Some(took) => self.at_most(what, aim.as_secs_f64(), took.as_secs_f64(), " s"),
            None => self.not_done(what),
        }
    }

    /// Something that did not come to an end.
    pub(crate) fn not_done(&mut self, what: &str) {
        println!("  {what:<66} {:>16}   MISSED", "not done");
        self.miss(&format!("{what}: not done within the limit"));
    }

    fn miss(&mut self, what: &str) {
        self.missed.push(format!("{} | {} | {what}", self.scene, self.row));
    }

    /// What a phase cost, next to its floor.
    pub(crate) fn figures(&mut self, figures: &Figures) {
        match figures.took {
            Some(took) => self.figure("time until done", seconds(took)),
            None => self.not_done("time until done"),
        }
        self.cpu("CPU s: API server / etcd / controllers / agents", figures.cpu);
        for (kind, count) in figures.writes.kinds() {
            self.figure(&format!("  {kind}"), count);
        }
    }

    pub(crate) fn cpu(&self, what: &str, cpu: Cpu) {
        let Cpu { api_server, etcd, controllers, agents } = cpu;
        self.figure(what, format!("{api_server:.2} / {etcd:.2} / {controllers:.2} / {agents:.2}"));
    }

    pub(crate) fn peak(&self, peak: Peak) {
        let Peak { api_server, etcd, controller, agents } = peak;
        let value = format!("{api_server:.0} / {etcd:.0} / {controller:.0} / {agents:.0}");
        self.figure("peak MiB so far: API server / etcd / controller / agents", value);
    }

    /// What one changed network cost: that should not grow with the number of networks.
    pub(crate) fn one_change(&mut self, nodes: &str, networks: usize, cpu: Cpu) {
        let fewer = self.one_change.iter().find(|(other, fewer, _)| other == nodes && *fewer < networks);
        if let Some((_, fewer, before)) = fewer.cloned() {
            let with = format!("with {networks} networks / with {fewer}");
            self.at_most(&format!("API server CPU {with}"), SIZE_RATIO, cpu.api_server / before.api_server, " x");
            let both = |cpu: Cpu| cpu.api_server + cpu.controllers;
            self.at_most(&format!("API server and controllers CPU {with}"), SIZE_RATIO, both(cpu) / both(before), " x");
        }
        self.one_change.push((nodes.to_owned(), networks, cpu));
    }

    /// What was met and what was not.
    pub(crate) fn summary(&self) {
        println!("\n=== {} of {} aims met", self.met, self.met + self.missed.len());
        for missed in &self.missed {
            println!("  missed: {missed}");
        }
    }
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// A line about what is under way, for the user who waits.
pub(crate) fn progress(text: impl std::fmt::Display) {
    eprintln!("    ... {text}");
}
