//! The table of all faults, in Markdown: one row for each fault, over all rounds.

use super::engine::{PORTS_TARGET, READY_TARGET};
use super::fault::{Fault, Recovery};
use crate::support::stream::Sample;
use std::fmt;
use std::time::Duration;

/// The cost of a fault.
pub(super) struct Row {
    pub(super) fault: Fault,
    pub(super) samples: Vec<(&'static str, Sample)>,
    pub(super) recovery: Recovery,
    /// Whether no network has said that it is not ready.
    pub(super) stayed_ready: bool,
    /// The objects that were left over or missing.
    pub(super) left: Vec<String>,
}

/// The traffic, in the order of the columns.
const TRAFFIC: [(&str, &str); 4] = [
    ("OVS", "Open vSwitch, veth: lost of sent, gap"),
    ("VPP", "VPP, veth: lost of sent, gap"),
    ("VhostUser", "vhost-user: received, gap"),
    ("Memif", "memif: received, gap"),
];

impl Row {
    fn of(&self, traffic: &str) -> Option<Sample> {
        self.samples.iter().find(|(name, _)| *name == traffic).map(|(_, sample)| *sample)
    }

    /// The violations.
    fn failures(&self) -> Vec<String> {
        let name = self.fault.name();
        let mut failures: Vec<String> = self.left.iter().map(|left| format!("{name}: {left}")).collect();
        for (traffic, sample) in &self.samples {
            let is_whole = sample.lost.is_none_or(|lost| (lost, sample.duplicates) == (0, 0));
            if !is_whole && !self.fault.interrupts(traffic) {
                failures.push(format!("{name}: {traffic}: {sample:?}"));
            }
        }
        if !self.stayed_ready && !self.fault.is_reported() {
            failures.push(format!("{name}: a network was not ready"));
        }
        failures
    }

    /// Adds the same fault of another round.
    fn merge(&mut self, other: Self) {
        for ((_, sample), (_, more)) in self.samples.iter_mut().zip(other.samples) {
            sample.packets += more.packets;
            sample.lost = sample.lost.zip(more.lost).map(|(lost, more)| lost + more);
            sample.duplicates += more.duplicates;
            sample.gap = sample.gap.max(more.gap);
        }
        let (mine, its) = (&mut self.recovery, other.recovery);
        mine.not_ready = mine.not_ready.max(its.not_ready);
        mine.ports = mine.ports.max(its.ports);
        mine.packets = mine.packets.max(its.packets);
        mine.ready = mine.ready.max(its.ready);
        self.stayed_ready &= other.stayed_ready;
        self.left.extend(other.left);
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "| {} |", self.fault.name())?;
        for (traffic, _) in TRAFFIC {
            match self.of(traffic) {
                Some(Sample { packets, lost: Some(lost), gap, .. }) => {
                    write!(formatter, " {lost} of {packets}, {} |", seconds(Some(gap)))?;
                }
                Some(Sample { packets, gap, .. }) => write!(formatter, " {packets}, {} |", seconds(Some(gap)))?,
                None => write!(formatter, " – |")?,
            }
        }
        let Recovery { not_ready, ports, packets, ready } = self.recovery;
        let not_ready = if self.stayed_ready { "stays True".to_owned() } else { seconds(not_ready) };
        let [ports, packets, ready] = [ports, packets, ready].map(seconds);
        write!(formatter, " {not_ready} | {ports} | {packets} | {ready} | {} |", self.left.len())
    }
}

fn seconds(duration: Option<Duration>) -> String {
    duration.map_or_else(|| "–".to_owned(), |duration| format!("{:.2}", duration.as_secs_f64()))
}

/// Returns one row for each fault.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
    failures: Vec<String>,
    missed: Vec<String>,
}

impl Table {
    /// Adds what a fault cost in one round.
    pub(super) fn add(&mut self, row: Row) {
        self.failures.extend(row.failures());
        self.missed.extend(missed(&row));
        match self.rows.iter_mut().find(|known| known.fault == row.fault) {
            Some(known) => known.merge(row),
            None => self.rows.push(row),
        }
    }

    /// Adds a fault that was not survived.
    pub(super) fn fail(&mut self, failure: String) {
        self.failures.push(failure);
    }

    /// The violations.
    pub(super) fn failures(&self) -> &[String] {
        &self.failures
    }
}

/// The targets for engines that were missed. They are for an idle machine: a test would fail on
/// others.
fn missed(row: &Row) -> Vec<String> {
    let Fault::Engine { .. } = row.fault else { return Vec::new() };
    let Recovery { not_ready, ports, ready, .. } = row.recovery;
    let targets =
        [("Ready=False", not_ready, READY_TARGET), ("ports", ports, PORTS_TARGET), ("Ready=True", ready, READY_TARGET)];
    let missed = targets.into_iter().filter(|(_, took, target)| took.is_some_and(|took| took > *target));
    missed.map(|(what, took, target)| format!("{}: {what} {took:.2?}, target {target:?}", row.fault.name())).collect()
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "\n| fault |")?;
        TRAFFIC.iter().try_for_each(|(_, head)| write!(formatter, " {head} |"))?;
        writeln!(formatter, " Ready False after | ports after | packets after | Ready True after | left over |")?;
        writeln!(formatter, "|---|{}", "---|".repeat(TRAFFIC.len() + 5))?;
        self.rows.iter().try_for_each(|row| writeln!(formatter, "{row}"))?;
        writeln!(formatter, "\nTargets missed: {}", self.missed.len())?;
        self.missed.iter().try_for_each(|missed| writeln!(formatter, "- {missed}"))
    }
}
