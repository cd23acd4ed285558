//! What the controller counts, for `/metrics`. Names and labels are part of the interface: dashboards use them.

use super::apply::Outcome;
use super::inputs::{Inputs, Network};
use prometheus::{
    Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, exponential_buckets,
};
use std::time::Duration;
use usnet_crds::conditions::{READY, STALLED, Status, find};

/// States of networks, as the label `state` says them.
const NETWORK_STATES: [&str; 5] = ["Ready", "Working", "Stalled", "Deleting", "Unknown"];
/// States of nodes: their agent has answered to what it was last told, has not yet, or Kubernetes does not reach the node.
const NODE_STATES: [&str; 3] = ["UpToDate", "Behind", "NotReady"];

/// All metrics of the controller. A standby shows no networks and no nodes.
#[derive(Debug)]
pub struct Metrics {
    pub(super) leader: IntGauge,
    pub(super) waiting_changes: IntGauge,
    passes: Histogram,
    errors: IntCounterVec,
    writes: IntCounterVec,
    networks: IntGaugeVec,
    nodes: IntGaugeVec,
    dropped_events: IntCounter,
}

impl Metrics {
    /// Registers all of them.
    ///
    /// # Errors
    /// When a name is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let options = |name: &str, help: &str| Opts::new(format!("usnet_controller_{name}"), help);
        let passes = "Time of one pass: compile, compare, write. The count is the number of passes.";
        let buckets = exponential_buckets(0.001, 2.0, 15)?;
        let passes = HistogramOpts { common_opts: options("reconcile_seconds", passes), buckets };
        let metrics = Self {
            leader: IntGauge::with_opts(options("leader", "1 while this replica leads and writes, else 0."))?,
            waiting_changes: IntGauge::with_opts(options(
                "queue_depth",
                "Changes that were seen and wait for a pass.",
            ))?,
            passes: Histogram::with_opts(passes)?,
            errors: IntCounterVec::new(
                options("reconcile_errors_total", "Writes that failed, by the word of the API server for why."),
                &["reason"],
            )?,
            writes: IntCounterVec::new(
                options("writes_total", "Writes to the API server, by what was written and whether it worked."),
                &["kind", "result"],
            )?,
            networks: IntGaugeVec::new(options("networks", "Networks by state."), &["state"])?,
            nodes: IntGaugeVec::new(options("nodes", "Nodes by state."), &["state"])?,
            dropped_events: IntCounter::with_opts(options("dropped_events_total", "Events dropped: too many waited."))?,
        };
        registry.register(Box::new(metrics.leader.clone()))?;
        registry.register(Box::new(metrics.waiting_changes.clone()))?;
        registry.register(Box::new(metrics.passes.clone()))?;
        registry.register(Box::new(metrics.dropped_events.clone()))?;
        for counters in [&metrics.errors, &metrics.writes] {
            registry.register(Box::new(counters.clone()))?;
        }
        for gauges in [&metrics.networks, &metrics.nodes] {
            registry.register(Box::new(gauges.clone()))?;
        }
        Ok(metrics)
    }

    /// Counts events that were dropped.
    pub(super) fn dropped_events(&self) -> IntCounter {
        self.dropped_events.clone()
    }

    /// Takes in one pass.
    pub(super) fn pass(&self, took: Duration, outcomes: &[Outcome]) {
        self.passes.observe(took.as_secs_f64());
        for Outcome { write, result } in outcomes {
            let word = if result.is_ok() { "success" } else { "error" };
            self.writes.with_label_values(&[write.kind(), word]).inc();
            if let Err(error) = result {
                self.errors.with_label_values(&[error.reason()]).inc();
            }
        }
    }

    /// Takes in the cluster as the leader sees it.
    pub(super) fn cluster(&self, inputs: &Inputs) {
        let networks = inputs.networks.values().map(network_state);
        set(&self.networks, &NETWORK_STATES, &networks);
        let nodes = inputs.nodes.iter().map(|(name, node)| {
            let is_current = inputs.states.get(name).is_some_and(|state| {
                state.status.as_ref().is_some_and(|status| status.observed_generation == Some(state.generation))
            });
            match (node.is_ready, is_current) {
                (false, _) => "NotReady",
                (true, true) => "UpToDate",
                (true, false) => "Behind",
            }
        });
        set(&self.nodes, &NODE_STATES, &nodes);
    }

    /// Another leads, and says how the cluster is.
    pub(super) fn stand_by(&self) {
        self.leader.set(0);
        self.waiting_changes.set(0);
        self.networks.reset();
        self.nodes.reset();
    }
}

fn set(gauges: &IntGaugeVec, states: &[&'static str], found: &(impl Iterator<Item = &'static str> + Clone)) {
    for state in states {
        let count = found.clone().filter(|found| found == state).count();
        gauges.with_label_values(&[*state]).set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}

fn network_state(network: &Network) -> &'static str {
    let conditions = network.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let holds = |kind| find(conditions, kind).map(|condition| condition.status.as_str());
    match holds(READY) {
        _ if network.is_deleting => "Deleting",
        _ if holds(STALLED) == Some(Status::True.as_str()) => "Stalled",
        Some("True") => "Ready",
        Some("False") => "Working",
        _ => "Unknown",
    }
}
