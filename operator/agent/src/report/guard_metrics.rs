//! Metrics of networks with guards and policies.

use super::metric_options::options;
use prometheus::core::Collector;
use prometheus::{IntCounterVec, IntGaugeVec, Registry};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use usnet_dataplane::vpp::policy::sessions::Sessions;

#[derive(Debug, Clone)]
pub(super) struct GuardMetrics {
    refused: IntCounterVec,
    connections: IntGaugeVec,
    connections_max: IntGaugeVec,
    /// The networks that have series of connections.
    networks: Arc<Mutex<BTreeSet<String>>>,
    /// These two have no labels, and no series where VPP has no policies.
    sessions: IntGaugeVec,
    sessions_max: IntGaugeVec,
}

impl GuardMetrics {
    pub(super) fn new() -> Result<Self, prometheus::Error> {
        let refused = "Frames that antiSpoofing and policies have refused, by network and cause.";
        let connections = "Connections that are tracked for the policies of a network.";
        let most = "How many connections may be tracked for the policies of a network.";
        let sessions = "Sessions that policies have in VPP, of all networks.";
        let most_sessions = "How many sessions policies may have in VPP.";
        Ok(Self {
            refused: IntCounterVec::new(options("refused_frames_total", refused), &["network", "cause"])?,
            connections: IntGaugeVec::new(options("policy_connections", connections), &["network"])?,
            connections_max: IntGaugeVec::new(options("policy_connections_max", most), &["network"])?,
            networks: Arc::default(),
            sessions: IntGaugeVec::new(options("policy_sessions", sessions), &[])?,
            sessions_max: IntGaugeVec::new(options("policy_sessions_max", most_sessions), &[])?,
        })
    }

    pub(super) fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let gauges = [&self.connections, &self.connections_max, &self.sessions, &self.sessions_max];
        let gauges = gauges.into_iter().map(|gauges| Box::new(gauges.clone()) as Box<dyn Collector>);
        gauges.into_iter().try_for_each(|collector| registry.register(collector))?;
        registry.register(Box::new(self.refused.clone()))
    }

    pub(super) fn frames_refused(&self, network: &str, cause: &str, frames: u64) {
        self.refused.with_label_values(&[network, cause]).inc_by(frames);
    }

    pub(super) fn connections(&self, now: &BTreeMap<&str, [u32; 2]>) {
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        for gone in networks.extract_if(.., |network| !now.contains_key(network.as_str())) {
            for gauges in [&self.connections, &self.connections_max] {
                // An error means that the series does not exist.
                let _removed = gauges.remove_label_values(&[&gone]);
            }
        }
        for (network, [connections, most]) in now {
            self.connections.with_label_values(&[network]).set(i64::from(*connections));
            self.connections_max.with_label_values(&[network]).set(i64::from(*most));
            networks.insert((*network).to_owned());
        }
    }

    pub(super) fn sessions(&self, now: Option<Sessions>) {
        let values = now.map_or([None; 2], |now| [Some(now.count), Some(now.max)]);
        for (gauges, value) in [&self.sessions, &self.sessions_max].into_iter().zip(values) {
            match value {
                Some(value) => gauges.with_label_values::<&str>(&[]).set(i64::try_from(value).unwrap_or(i64::MAX)),
                // An error means that the series does not exist.
                None => drop(gauges.remove_label_values::<&str>(&[])),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_without_policies_has_no_connections() {
        let registry = Registry::new();
        let metrics = GuardMetrics::new().unwrap();
        metrics.register(&registry).unwrap();
        let exported = || {
            let families = registry.gather();
            let values = families.iter().flat_map(|family| {
                family
                    .get_metric()
                    .iter()
                    .map(|metric| (metric.get_label()[0].value().to_owned(), metric.get_gauge().get_value() as u32))
            });
            values.collect::<Vec<_>>()
        };
        metrics.connections(&BTreeMap::from([("blue", [1, 10]), ("red", [2, 20])]));
        assert_eq!(exported().len(), 4);
        metrics.connections(&BTreeMap::from([("red", [3, 20])]));
        assert_eq!(exported(), [("red".to_owned(), 3), ("red".to_owned(), 20)]);
    }

    #[test]
    fn where_vpp_has_no_policies_there_are_no_series_of_sessions() {
        let registry = Registry::new();
        let metrics = GuardMetrics::new().unwrap();
        metrics.register(&registry).unwrap();
        let exported = || {
            let families = registry.gather();
            let values = families.iter().flat_map(|family| {
                family
                    .get_metric()
                    .iter()
                    .map(|metric| (family.name().to_owned(), metric.get_gauge().get_value() as u32))
            });
            values.collect::<Vec<_>>()
        };
        assert_eq!(exported(), []);
        let [count, most] = ["usnet_agent_policy_sessions", "usnet_agent_policy_sessions_max"].map(str::to_owned);
        metrics.sessions(Some(Sessions { count: 0, max: 10 }));
        assert_eq!(exported(), [(count, 0), (most, 10)]);
        metrics.sessions(None);
        metrics.sessions(None);
        assert_eq!(exported(), []);
    }
}
