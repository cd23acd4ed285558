//! The metrics of the agent, for `/metrics`. Names and labels are part of the interface: dashboards
//! use them.

use super::guard_metrics::GuardMetrics;
use super::metric_options::options;
use crate::model::engine_facts::EngineFacts;
use prometheus::core::Collector;
use prometheus::{
    GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    exponential_buckets,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use usnet_common::telemetry::current_series::CurrentSeries;
use usnet_common::telemetry::seconds_since_1970;
use usnet_crds::EngineKind;
use usnet_crds::conditions::Status;
use usnet_crds::conditions::reason::NEVER_SEEN;
use usnet_crds::node_state::{NetworkReport, NetworkState};
use usnet_crds::uplink::report::UplinkState;
use usnet_dataplane::call_log::{Call, Verb};
use usnet_dataplane::plan::Op;
use usnet_dataplane::vpp::policy::sessions::Sessions;
use usnet_node::history_file::{Cause, Change, Outcome};

const UPLINK_STATES: [(UplinkState, &str); 3] =
    [(UplinkState::Programmed, "Programmed"), (UplinkState::Pending, "Pending"), (UplinkState::Failed, "Failed")];
const NETWORK_STATES: [NetworkState; 4] =
    [NetworkState::Programmed, NetworkState::Pending, NetworkState::Failed, NetworkState::Draining];

/// All metrics of the agent.
#[derive(Debug, Clone)]
pub struct Metrics {
    networks: IntGaugeVec,
    uplinks: IntGaugeVec,
    attachments: IntGaugeVec,
    attachments_connected: IntGaugeVec,
    attachments_degraded: IntGaugeVec,
    engine_connected: IntGaugeVec,
    engine_epoch: IntGaugeVec,
    repairs: IntCounterVec,
    operations: HistogramVec,
    operation_errors: IntCounterVec,
    status_writes: IntCounterVec,
    devices: IntGaugeVec,
    registrations: IntCounterVec,
    garbage: IntCounterVec,
    state_directory_writable: IntGauge,
    calls: HistogramVec,
    last_reconcile: GaugeVec,
    unready_networks: CurrentSeries,
    overlay_packets_refused: IntCounter,
    guarded: GuardMetrics,
}

impl Metrics {
    /// Creates the metrics without registering them.
    ///
    /// # Errors
    /// A name is invalid, which is a bug in this program.
    pub fn new() -> Result<Self, prometheus::Error> {
        let gauges = |name, help, labels: &[&str]| IntGaugeVec::new(options(name, help), labels);
        let counters = |name, help, labels: &[&str]| IntCounterVec::new(options(name, help), labels);
        Ok(Self {
            networks: gauges("networks", "Networks of this node by state.", &["engine", "state"])?,
            uplinks: gauges("uplinks", "Uplinks of this node by state.", &["engine", "state"])?,
            attachments: gauges("attachments", "Interfaces of pods that are attached.", &["engine"])?,
            attachments_connected: gauges(
                "attachments_connected",
                "Attached interfaces whose application is connected to the engine.",
                &["engine"],
            )?,
            attachments_degraded: attachments_degraded()?,
            engine_connected: gauges(
                "engine_connected",
                "1 while the engine is connected and applies changes, else 0.",
                &["engine"],
            )?,
            engine_epoch: gauges(
                "engine_epoch",
                "Restarts of the engine that the agent of this node observed.",
                &["engine"],
            )?,
            repairs: counters("repairs_total", "Operations that reverted changes made outside of usnet.", &["engine"])?,
            devices: gauges("devices", "Devices of networks that are offered to kubelet, by health.", &["health"])?,
            registrations: counters(
                "device_plugin_registrations_total",
                "Registrations of a network's resource with kubelet.",
                &["result"],
            )?,
            garbage: counters(
                "garbage_total",
                "Attachments, and folders without one, that no living pod owned and that were removed or could not be.",
                &["kind", "result"],
            )?,
            state_directory_writable: state_directory_writable()?,
            operations: HistogramVec::new(operation_options()?, &["engine", "kind"])?,
            calls: HistogramVec::new(call_options()?, &["verb", "code"])?,
            last_reconcile: last_reconcile()?,
            unready_networks: unready_networks()?,
            overlay_packets_refused: overlay_packets_refused()?,
            guarded: GuardMetrics::new()?,
            operation_errors: counters("operation_errors_total", "Operations that failed.", &["engine", "kind"])?,
            status_writes: counters(
                "status_writes_total",
                "Updates of this node's status that were sent to the API server.",
                &["result"],
            )?,
        })
    }

    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let gauges = [
            &self.networks,
            &self.uplinks,
            &self.attachments,
            &self.attachments_connected,
            &self.attachments_degraded,
            &self.engine_connected,
            &self.engine_epoch,
            &self.devices,
        ];
        let gauges = gauges.into_iter().map(|gauges| Box::new(gauges.clone()) as Box<dyn Collector>);
        let counters = [&self.repairs, &self.operation_errors, &self.status_writes, &self.registrations, &self.garbage];
        let counters = counters.into_iter().map(|counters| Box::new(counters.clone()) as Box<dyn Collector>);
        gauges.chain(counters).try_for_each(|collector| registry.register(collector))?;
        registry.register(Box::new(self.overlay_packets_refused.clone()))?;
        self.guarded.register(registry)?;
        registry.register(Box::new(self.state_directory_writable.clone()))?;
        self.unready_networks.register(registry)?;
        registry.register(Box::new(self.last_reconcile.clone()))?;
        registry.register(Box::new(self.calls.clone()))?;
        registry.register(Box::new(self.operations.clone()))
    }

    /// Sets the gauges of an engine.
    pub(crate) fn engine(&self, engine: EngineKind, facts: &EngineFacts) {
        let engine = label(engine);
        for state in NETWORK_STATES {
            let count = facts.networks.iter().filter(|network| network.state == state).count();
            self.networks
                .with_label_values(&[engine, state_label(state)])
                .set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        for (state, name) in UPLINK_STATES {
            let count = facts.uplinks.iter().filter(|uplink| uplink.state == state).count();
            self.uplinks.with_label_values(&[engine, name]).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        let unready = facts.networks.iter().filter(|network| network.state != NetworkState::Programmed);
        let labels = |network: &Arc<NetworkReport>| {
            vec![engine.to_owned(), network.name.clone(), state_label(network.state).to_owned(), network.reason.clone()]
        };
        self.unready_networks.replace(engine, unready.map(labels).collect());
        let sum = |part: fn(&NetworkReport) -> i64| facts.networks.iter().map(|network| part(network)).sum();
        self.attachments.with_label_values(&[engine]).set(sum(|network| network.attachments));
        self.attachments_connected.with_label_values(&[engine]).set(sum(|network| network.connected));
        for (reason, count) in &facts.degraded {
            self.attachments_degraded.with_label_values(&[engine, reason]).set(*count);
        }
        if facts.connected.reason == NEVER_SEEN {
            // The node may well not have the engine. An error means that the series does not exist.
            let _removed = self.engine_connected.remove_label_values(&[engine]);
        } else {
            let is_connected = facts.connected.status == Status::True;
            self.engine_connected.with_label_values(&[engine]).set(i64::from(is_connected));
        }
        if let Some(report) = &facts.engine {
            self.engine_epoch.with_label_values(&[engine]).set(report.epoch);
        }
    }

    /// Records that the state of an engine was compared with the desired state, and reported.
    pub(crate) fn reconciled(&self, engine: EngineKind) {
        self.last_reconcile.with_label_values(&[label(engine)]).set(seconds_since_1970());
    }

    /// Counts an operation and its result. `took` is the duration of all operations that were sent
    /// together.
    pub(crate) fn operation(&self, engine: EngineKind, operation: &Op, took: Duration, succeeded: bool) {
        let labels = [label(engine), operation.kind()];
        self.operations.with_label_values(&labels).observe(took.as_secs_f64());
        if !succeeded {
            self.operation_errors.with_label_values(&labels).inc();
        }
    }

    /// Counts an operation that repaired drift.
    pub(crate) fn repair(&self, engine: EngineKind) {
        self.repairs.with_label_values(&[label(engine)]).inc();
    }

    /// Counts packets to overlays that were not from peers.
    pub(crate) fn overlay_packets_refused(&self, packets: u64) {
        self.overlay_packets_refused.inc_by(packets);
    }

    /// Counts frames that flows of a network have refused.
    pub(crate) fn frames_refused(&self, network: &str, cause: &str, frames: u64) {
        self.guarded.frames_refused(network, cause, frames);
    }

    /// Sets how many connections each network with policies has, and how many it may have; others
    /// have no series.
    pub(crate) fn policy_connections(&self, networks: &BTreeMap<&str, [u32; 2]>) {
        self.guarded.connections(networks);
    }

    /// Sets how many sessions policies have in VPP, and how many they may have; without any there
    /// are no series.
    pub(crate) fn policy_sessions(&self, sessions: Option<Sessions>) {
        self.guarded.sessions(sessions);
    }

    /// Sets the number of devices of each health.
    pub(crate) fn devices<const N: usize>(&self, by_health: [(&str, usize); N]) {
        for (health, count) in by_health {
            self.devices.with_label_values(&[health]).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Counts a registration with kubelet.
    pub(crate) fn registration(&self, succeeded: bool) {
        self.registrations.with_label_values(&[result(succeeded)]).inc();
    }

    /// Counts a call of the CNI plugin.
    pub(crate) fn call(&self, call: &Call) {
        let verb = match call.verb {
            Verb::Add => "ADD",
            Verb::Del => "DEL",
            Verb::Gc => "GC",
        };
        let duration = Duration::from_millis(call.milliseconds);
        self.calls.with_label_values(&[verb, &call.code.to_string()]).observe(duration.as_secs_f64());
    }

    /// Counts what the garbage collection did.
    pub(crate) fn garbage(&self, change: &Change) {
        let kind = if change.cause == Cause::NamespaceGone { "Attachment" } else { "Folder" };
        let succeeded = matches!(change.outcome, Outcome::Done | Outcome::CompletedLater);
        self.garbage.with_label_values(&[kind, result(succeeded)]).inc();
    }

    /// Sets whether the state and run directories can be written.
    pub(crate) fn state_directory_writable(&self, is_writable: bool) {
        self.state_directory_writable.set(i64::from(is_writable));
    }

    /// Counts a write of the status.
    pub(crate) fn status_write(&self, succeeded: bool) {
        self.status_writes.with_label_values(&[result(succeeded)]).inc();
    }
}

fn operation_options() -> Result<HistogramOpts, prometheus::Error> {
    let help = "Duration of operations on an engine, by kind. Operations that are sent together each count with the duration of all.";
    Ok(HistogramOpts {
        common_opts: options("operation_duration_seconds", help),
        buckets: exponential_buckets(0.000_25, 2.0, 16)?,
    })
}

fn call_options() -> Result<HistogramOpts, prometheus::Error> {
    let help =
        "Duration of calls of the CNI plugin for one interface, by verb and CNI error code, which is 0 for a success.";
    Ok(HistogramOpts {
        common_opts: Opts::new("usnet_cni_call_duration_seconds", help),
        buckets: exponential_buckets(0.002, 2.0, 14)?,
    })
}

fn state_directory_writable() -> Result<IntGauge, prometheus::Error> {
    let help = "1 while the state and run directories of the node can be written, else 0: no pod can attach.";
    IntGauge::with_opts(options("state_directory_writable", help))
}

fn attachments_degraded() -> Result<IntGaugeVec, prometheus::Error> {
    let help = "Attached interfaces with a problem of their own, by its reason.";
    IntGaugeVec::new(options("attachments_degraded", help), &["engine", "reason"])
}

fn overlay_packets_refused() -> Result<IntCounter, prometheus::Error> {
    let help = "Packets to overlays that were dropped because they were not from a node of them.";
    IntCounter::with_opts(options("overlay_packets_refused_total", help))
}

fn last_reconcile() -> Result<GaugeVec, prometheus::Error> {
    let help =
        "When the state of the engine was last compared with what is declared, and reported, in seconds since 1970.";
    GaugeVec::new(options("last_reconcile_timestamp_seconds", help), &["engine"])
}

fn unready_networks() -> Result<CurrentSeries, prometheus::Error> {
    let help = "1 for each network that is not programmed on this node, with its state and reason.";
    CurrentSeries::new(options("network_not_programmed", help), &["engine", "network", "state", "reason"])
}

const fn result(succeeded: bool) -> &'static str {
    if succeeded { "success" } else { "error" }
}

const fn label(engine: EngineKind) -> &'static str {
    engine.traits().api_name
}

const fn state_label(state: NetworkState) -> &'static str {
    match state {
        NetworkState::Programmed => "Programmed",
        NetworkState::Pending => "Pending",
        NetworkState::Failed => "Failed",
        NetworkState::Draining => "Draining",
    }
}
