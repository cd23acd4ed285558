//! Series whose labels name the state of an object: each is 1 while it holds, and is then gone, so
//! that no object that was deleted stays in the metrics.

use prometheus::core::Collector;
use prometheus::{IntGaugeVec, Opts, Registry};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The values of the labels of one series.
type Labels = Vec<String>;

/// The series of one metric that hold now.
#[derive(Debug, Clone)]
pub struct CurrentSeries {
    gauges: IntGaugeVec,
    /// The series that are set, by owner.
    current: Arc<Mutex<BTreeMap<String, BTreeSet<Labels>>>>,
}

impl CurrentSeries {
    /// Creates the metric without any series.
    pub fn new(options: Opts, labels: &[&str]) -> Result<Self, prometheus::Error> {
        Ok(Self { gauges: IntGaugeVec::new(options, labels)?, current: Arc::default() })
    }

    pub fn register(&self, registry: &Registry) -> Result<(), prometheus::Error> {
        let collector: Box<dyn Collector> = Box::new(self.gauges.clone());
        registry.register(collector)
    }

    /// Replaces all series of `owner`.
    pub fn replace(&self, owner: &str, series: BTreeSet<Labels>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let before = current.remove(owner).unwrap_or_default();
        for labels in before.difference(&series) {
            // An error means that the series does not exist.
            let _removed = self.gauges.remove_label_values(&texts(labels));
        }
        for labels in series.difference(&before) {
            self.gauges.with_label_values(&texts(labels)).set(1);
        }
        if !series.is_empty() {
            current.insert(owner.to_owned(), series);
        }
    }
}

fn texts(labels: &Labels) -> Vec<&str> {
    labels.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(states: &[(&str, &str)]) -> BTreeSet<Labels> {
        states.iter().map(|(name, state)| vec![(*name).to_owned(), (*state).to_owned()]).collect()
    }

    #[test]
    fn only_what_holds_is_exported() {
        let registry = Registry::new();
        let states = CurrentSeries::new(Opts::new("states", "States."), &["name", "state"]).unwrap();
        states.register(&registry).unwrap();
        let exported = || {
            let families = registry.gather();
            let metrics = families.iter().flat_map(|family| family.get_metric());
            let labels = metrics.map(|metric| {
                assert!((metric.get_gauge().get_value() - 1.0).abs() < f64::EPSILON);
                metric.get_label().iter().map(|label| label.value().to_owned()).collect::<Labels>()
            });
            labels.collect::<BTreeSet<_>>()
        };
        states.replace("a", series(&[("blue", "Ready"), ("red", "Ready")]));
        states.replace("b", series(&[("green", "Failed")]));
        assert_eq!(exported(), series(&[("blue", "Ready"), ("red", "Ready"), ("green", "Failed")]));
        states.replace("a", series(&[("blue", "Failed")]));
        assert_eq!(exported(), series(&[("blue", "Failed"), ("green", "Failed")]));
        states.replace("b", BTreeSet::new());
        assert_eq!(exported(), series(&[("blue", "Failed")]));
    }
}
