//! Metrics of the controller of policies. Names and labels are API: dashboards use them.

use crate::plan::Operation;
use prometheus::{Histogram, HistogramOpts, IntCounterVec, IntGauge, Opts, Registry, exponential_buckets};
use std::time::Duration;

/// All metrics of the controller of policies.
#[derive(Debug)]
pub struct Metrics {
    evaluations: Histogram,
    writes: IntCounterVec,
    policies: IntGauge,
    pods: IntGauge,
    slices: IntGauge,
}

impl Metrics {
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let options = |name: &str, help: &str| Opts::new(format!("usnet_policies_{name}"), help);
        let gauge = |name: &str, help: &str| IntGauge::with_opts(options(name, help));
        let evaluations = "Duration of the evaluations of all policies and pods.";
        let buckets = exponential_buckets(0.001, 2.0, 15)?;
        let evaluations = HistogramOpts { common_opts: options("reconcile_duration_seconds", evaluations), buckets };
        let metrics = Self {
            evaluations: Histogram::with_opts(evaluations)?,
            writes: IntCounterVec::new(
                options("writes_total", "Writes to the API server, by what was written and their result."),
                &["kind", "result"],
            )?,
            policies: gauge("compiled_policies", "CompiledPolicies that there should be.")?,
            pods: gauge("pods", "Pods that selectors of policies concern, once for each of their networks.")?,
            slices: gauge("slices", "UserspacePodSlices that there should be.")?,
        };
        registry.register(Box::new(metrics.evaluations.clone()))?;
        registry.register(Box::new(metrics.writes.clone()))?;
        for gauge in [&metrics.policies, &metrics.pods, &metrics.slices] {
            registry.register(Box::new(gauge.clone()))?;
        }
        Ok(metrics)
    }

    /// Everything was evaluated.
    pub(crate) fn evaluated(&self, took: Duration, [policies, pods, slices]: [usize; 3]) {
        self.evaluations.observe(took.as_secs_f64());
        for (gauge, count) in [(&self.policies, policies), (&self.pods, pods), (&self.slices, slices)] {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }

    /// Something was written, or could not be.
    pub(crate) fn wrote(&self, operation: &Operation, is_success: bool) {
        let kind = if operation.slice().is_some() { "UserspacePodSlice" } else { "CompiledPolicy" };
        let result = if is_success { "success" } else { "error" };
        self.writes.with_label_values(&[kind, result]).inc();
    }
}
