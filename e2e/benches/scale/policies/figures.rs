//! What is reported of what watchers of slices see.

use super::slices::{Seen, percentiles};
use super::{RATIO, model, objects};
use crate::report::Report;
use crate::settings::Load;
use std::time::Duration;

/// From a report or a label to its slice, at most and usually: a slice waits for a second.
const DELAY_MOST: Duration = Duration::from_secs(3);
const DELAY_USUAL: Duration = Duration::from_secs(1);

pub(super) fn seen(report: &mut Report, seen: &Seen, seconds: f64, expected: f64, load: Load) {
    let kilobytes = |bytes: f64| format!("{:.1} kB/s", bytes / 1000.0 / seconds);
    let bytes = seen.bytes as f64;
    let usual = bytes / seen.events.max(1) as f64;
    report.figure("written to slices", kilobytes(bytes));
    report.at_most(
        "the same, of the model's writes of slices of this size",
        RATIO,
        bytes / seconds / (expected * usual),
        " x",
    );
    // A node has pods of few networks, and watches these.
    let share = objects::NETWORKS_OF_NODE as f64 / load.networks as f64;
    let watchers = load.nodes as f64 * share;
    report.figure("events/s to all nodes", format!("{:.0}", seen.events as f64 / seconds * watchers));
    report.figure("to one node", kilobytes(bytes * share));
    for (what, delays) in [("a start, since its report", &seen.starts), ("labels", &seen.labels)] {
        let [usual, most] = percentiles(delays);
        report.figure(&format!("{what}: seen in slices"), delays.len());
        report.within(&format!("{what}: usually in its slice after"), DELAY_USUAL, usual);
        report.within(&format!("{what}: 99 of 100 after"), DELAY_MOST, most);
    }
}

/// What follows for a large cluster from the size of slices here.
pub(super) fn large(report: &mut Report, seen: &Seen) {
    let (writes, usual) = (model::LARGE.writes(), seen.bytes as f64 / seen.events.max(1) as f64);
    report.figure("bytes of a slice that is written, on average", format!("{usual:.0}"));
    report.at_most(
        "writes/s at 5,000 nodes, 100 pods/s, by the model (simulated: 158)",
        RATIO * model::SIMULATED_WRITES,
        writes,
        "",
    );
    report.at_most(
        "MB/s at 5,000 nodes, 100 pods/s, by the model (simulated: 0.25)",
        RATIO * model::SIMULATED_MEGABYTES,
        writes * usual / 1e6,
        "",
    );
}
