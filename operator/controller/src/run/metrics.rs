//! Metrics of the controller. Names and labels are API: dashboards use them.

use crate::cache::{Cache, NodeState};
use crate::write::request::{Done, Error};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus::{
    Gauge, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    exponential_buckets,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use usnet_common::telemetry::current_series::CurrentSeries;
use usnet_common::telemetry::seconds_since_1970;
use usnet_crds::conditions::{READY, STALLED, Status, find};

/// Values of the label `state` for networks and uplinks.
const STATES: [&str; 5] = ["Ready", "Working", "Stalled", "Deleting", "Unknown"];
/// Values of the label `state` for nodes: the agent has reported for its current spec, has not yet,
/// has never reported, which it does on no node without an agent, or the node is not ready.
const NODE_STATES: [&str; 4] = ["UpToDate", "Behind", "NeverReported", "NotReady"];

const LEADER_TERMS: &str = "How often this replica became the leader.";
const LAST_RECONCILE: &str = "When this replica, as the leader, last evaluated changes, in seconds since 1970.";
const NETWORK_STATE: &str = "1 for the state that each network is in.";
const DESIRED_AGENTS: &str = "Nodes that should have an agent, as the DaemonSet of the agents says.";

/// All metrics of the controller. A standby shows no networks, no uplinks and no nodes.
#[derive(Debug)]
pub struct Metrics {
    leader: IntGauge,
    pub(super) queued: IntGauge,
    evaluations: Histogram,
    errors: IntCounterVec,
    writes: IntCounterVec,
    networks: IntGaugeVec,
    uplinks: IntGaugeVec,
    nodes: IntGaugeVec,
    /// Without labels: it has no series while the number is not known.
    desired_agents: IntGaugeVec,
    dropped_events: IntCounter,
    leader_terms: IntCounter,
    last_reconcile: Gauge,
    states: CurrentSeries,
}

impl Metrics {
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let options = |name: &str, help: &str| Opts::new(format!("usnet_controller_{name}"), help);
        let evaluations = "Duration of the evaluations of what changed: compiling and comparing.";
        let buckets = exponential_buckets(0.001, 2.0, 15)?;
        let evaluations = HistogramOpts { common_opts: options("reconcile_duration_seconds", evaluations), buckets };
        let metrics = Self {
            leader: IntGauge::with_opts(options("leader", "1 while this replica is the leader and writes, else 0."))?,
            queued: IntGauge::with_opts(options(
                "queue_depth",
                "Pending writes, without those of NetworkAttachmentDefinitions.",
            ))?,
            evaluations: Histogram::with_opts(evaluations)?,
            errors: IntCounterVec::new(
                options("reconcile_errors_total", "Failed writes, by the reason that the API server returned."),
                &["reason"],
            )?,
            writes: IntCounterVec::new(
                options("writes_total", "Writes to the API server, by kind and result."),
                &["kind", "result"],
            )?,
            networks: IntGaugeVec::new(options("networks", "Networks by state."), &["state"])?,
            uplinks: IntGaugeVec::new(options("uplinks", "Uplinks by state."), &["state"])?,
            nodes: IntGaugeVec::new(options("nodes", "Nodes by state."), &["state"])?,
            desired_agents: IntGaugeVec::new(options("desired_agents", DESIRED_AGENTS), &[])?,
            dropped_events: IntCounter::with_opts(options(
                "dropped_events_total",
                "Events that were dropped because the queue was full.",
            ))?,
            leader_terms: IntCounter::with_opts(options("leader_terms_total", LEADER_TERMS))?,
            last_reconcile: Gauge::with_opts(options("last_reconcile_timestamp_seconds", LAST_RECONCILE))?,
            states: CurrentSeries::new(options("network_state", NETWORK_STATE), &["network", "state"])?,
        };
        metrics.states.register(registry)?;
        registry.register(Box::new(metrics.last_reconcile.clone()))?;
        registry.register(Box::new(metrics.leader_terms.clone()))?;
        registry.register(Box::new(metrics.leader.clone()))?;
        registry.register(Box::new(metrics.queued.clone()))?;
        registry.register(Box::new(metrics.evaluations.clone()))?;
        registry.register(Box::new(metrics.dropped_events.clone()))?;
        for counters in [&metrics.errors, &metrics.writes] {
            registry.register(Box::new(counters.clone()))?;
        }
        for gauges in [&metrics.networks, &metrics.uplinks, &metrics.nodes, &metrics.desired_agents] {
            registry.register(Box::new(gauges.clone()))?;
        }
        Ok(metrics)
    }

    /// Counts events that were dropped.
    pub(super) fn dropped_events(&self) -> IntCounter {
        self.dropped_events.clone()
    }

    pub(super) fn write(&self, kind: &str, result: &Result<Done, Error>) {
        let label = if result.is_ok() { "success" } else { "error" };
        self.writes.with_label_values(&[kind, label]).inc();
        if let Err(error) = result {
            self.errors.with_label_values(&[error.reason()]).inc();
        }
    }

    /// Counts networks, uplinks and nodes as the leader sees them.
    pub(super) fn cluster(&self, cache: &Cache) {
        let networks = cache.networks.iter().map(|(name, network)| {
            let status = network.status.as_ref();
            (name, state(network.is_deleting(), status.map(|status| status.conditions.as_slice())))
        });
        let networks: Vec<_> = networks.collect();
        set(&self.networks, &STATES, networks.iter().map(|(_, state)| *state));
        self.states
            .replace("", networks.iter().map(|(name, state)| vec![name.to_string(), (*state).to_owned()]).collect());
        let uplinks = cache.uplinks.values().map(|uplink| {
            let status = uplink.status.as_ref();
            state(uplink.is_deleting(), status.map(|status| status.conditions.as_slice()))
        });
        set(&self.uplinks, &STATES, uplinks);
        let nodes = cache.nodes.iter().map(|(name, node)| node_state(node.is_ready, cache.states.get(name)));
        set(&self.nodes, &NODE_STATES, nodes);
    }

    /// Sets the number of nodes that should have an agent; none if it is not known.
    pub(super) fn desired_agents(&self, count: Option<i32>) {
        match count {
            Some(count) => self.desired_agents.with_label_values::<&str>(&[]).set(count.into()),
            None => self.desired_agents.reset(),
        }
    }

    /// Records the duration of an evaluation.
    pub(super) fn evaluated(&self, took: Duration) {
        self.evaluations.observe(took.as_secs_f64());
        self.last_reconcile.set(seconds_since_1970());
    }

    /// Records that this replica became the leader.
    pub(super) fn start_term(&self) {
        self.leader.set(1);
        self.leader_terms.inc();
    }

    /// Records that this replica is a standby: the leader exports the state of the cluster.
    pub(super) fn reset_to_standby(&self) {
        self.leader.set(0);
        self.queued.set(0);
        self.networks.reset();
        self.states.replace("", BTreeSet::new());
        self.uplinks.reset();
        self.nodes.reset();
    }
}

fn node_state(is_ready: bool, state: Option<&NodeState>) -> &'static str {
    match state.filter(|state| state.status.is_some()) {
        _ if !is_ready => "NotReady",
        None => "NeverReported",
        Some(state) if state.is_observed() => "UpToDate",
        Some(_) => "Behind",
    }
}

fn set(gauges: &IntGaugeVec, states: &[&'static str], found: impl Iterator<Item = &'static str>) {
    let mut counts: BTreeMap<&str, i64> = states.iter().map(|state| (*state, 0)).collect();
    for state in found {
        *counts.entry(state).or_default() += 1;
    }
    for (state, count) in counts {
        gauges.with_label_values(&[state]).set(count);
    }
}

fn state(is_deleting: bool, conditions: Option<&[Condition]>) -> &'static str {
    let holds = |kind| find(conditions.unwrap_or_default(), kind).map(|condition| condition.status.as_str());
    match holds(READY) {
        _ if is_deleting => "Deleting",
        _ if holds(STALLED) == Some(Status::True.as_str()) => "Stalled",
        Some("True") => "Ready",
        Some("False") => "Working",
        _ => "Unknown",
    }
}
