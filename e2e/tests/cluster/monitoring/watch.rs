//! Which alerts are seen, and how long after what broke.

use super::prometheus::Prometheus;
use super::translation::minutes;
use crate::support::cluster::{check, eventually};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Something that was broken, and when.
pub(super) struct Fault {
    what: &'static str,
    since: Instant,
}

impl Fault {
    /// Of what is broken next.
    pub(super) fn begin(what: &'static str) -> Self {
        Self { what, since: Instant::now() }
    }
}

/// Waits for alerts, and prints when they were seen.
pub(super) struct Watch<'a> {
    prometheus: &'a Prometheus,
    /// The minutes for which each alert is pending with the values of the component.
    pending: BTreeMap<String, u64>,
    /// When each alert of the present faults became pending.
    since: BTreeMap<String, Instant>,
    seen: BTreeSet<String>,
}

impl<'a> Watch<'a> {
    /// Watches the alerts of a PrometheusRule.
    pub(super) fn new(prometheus: &'a Prometheus, rule: &Value) -> Self {
        let rules =
            rule["spec"]["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
        let pending = |rule: &Value| {
            let name = rule["alert"].as_str().unwrap().to_owned();
            (name, rule["for"].as_str().map_or(0, minutes))
        };
        let pending = rules.map(pending).collect();
        Self { prometheus, pending, since: BTreeMap::new(), seen: BTreeSet::new() }
    }

    /// Waits until no alert is pending or fires.
    pub(super) fn await_silence(&self) {
        eventually("no alert", || {
            let alerts = self.prometheus.alerts()?;
            check(alerts.is_empty(), format!("{alerts:?}"))
        });
    }

    /// Waits until an alert fires because of a fault.
    #[track_caller]
    pub(super) fn await_firing(&mut self, fault: &Fault, name: &str, labels: &[(&str, &str)]) {
        self.await_alert(fault, name, labels, true);
    }

    /// Waits until an alert is pending because of a fault, which may end too soon for it to fire.
    #[track_caller]
    pub(super) fn await_pending(&mut self, fault: &Fault, name: &str, labels: &[(&str, &str)]) {
        self.await_alert(fault, name, labels, false);
    }

    #[track_caller]
    fn await_alert(&mut self, fault: &Fault, name: &str, labels: &[(&str, &str)], is_firing: bool) {
        let is_it = |it: &super::prometheus::Alert| it.is(name, labels);
        eventually(&format!("{name} {labels:?}"), || {
            let alerts = self.prometheus.alerts()?;
            if alerts.iter().any(is_it) {
                self.since.entry(name.to_owned()).or_insert_with(Instant::now);
            }
            let fires = alerts.iter().any(|it| is_it(it) && (it.is_firing || !is_firing));
            check(fires, format!("{alerts:?}"))
        });
        let pending = Duration::from_secs(60 * self.pending[name]);
        let after = self.since[name].saturating_duration_since(fault.since);
        let state = if is_firing { "fires" } else { "is pending" };
        println!(
            "{name}: {state} {:.1} s after {} (then {} s for the component's time of pending, here a sixtieth of it)",
            after.as_secs_f64(),
            fault.what,
            pending.as_secs()
        );
        self.seen.insert(name.to_owned());
    }

    /// Does not expect an alert that this test bed cannot have.
    pub(super) fn leave_out(&mut self, name: &str) {
        self.pending.remove(name);
    }

    /// Waits until an alert neither is pending nor fires.
    #[track_caller]
    pub(super) fn await_end(&self, name: &str, labels: &[(&str, &str)]) {
        eventually(&format!("the end of {name}"), || {
            let alerts = self.prometheus.alerts()?;
            check(!alerts.iter().any(|it| it.is(name, labels)), format!("{alerts:?}"))
        });
    }

    /// Asserts that each alert was seen.
    pub(super) fn assert_complete(&self) {
        let unseen: Vec<&String> = self.pending.keys().filter(|name| !self.seen.contains(*name)).collect();
        assert!(unseen.is_empty(), "alerts that were not seen: {unseen:?}");
    }
}
