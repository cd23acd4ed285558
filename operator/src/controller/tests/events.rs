//! The Events during the lifecycle of a network.

use super::super::events::ReportedConditions;
use super::super::write::Write;
use super::model::Cluster;
use serde_json::json;

/// A controller that sends events of what it writes.
#[derive(Default)]
struct Reporter {
    reported_conditions: ReportedConditions,
    events: Vec<String>,
}

impl Reporter {
    /// Runs passes until nothing changes; their events as `type reason`.
    fn settle(&mut self, cluster: &mut Cluster) -> Vec<String> {
        for _ in 0..12 {
            let before = cluster.cache.networks.clone();
            let writes = cluster.pass();
            for (name, network) in &before {
                if writes.iter().any(|write| matches!(write, Write::Status { network, .. } if network == name)) {
                    self.reported_conditions.remember(name, network);
                }
            }
            self.report(&writes);
            cluster.report();
        }
        std::mem::take(&mut self.events)
    }

    fn report(&mut self, writes: &[Write]) {
        let records = writes.iter().flat_map(|write| self.reported_conditions.transitions(write));
        self.events.extend(records.map(|record| format!("{:?} {}", record.kind, record.reason)).collect::<Vec<_>>());
    }
}

#[test]
fn each_transition_of_a_life_is_reported_once() {
    let (mut cluster, mut reporter) = (Cluster::new(), Reporter::default());
    cluster.simple_network("blue");
    assert_eq!(reporter.settle(&mut cluster), ["Normal Syncing", "Normal Ready"]);
    cluster.attach("node-a", "blue", 1);
    assert_eq!(reporter.settle(&mut cluster), [""; 0], "a count is no transition");
    let place = ("node-b".to_owned(), "blue".to_owned());
    cluster.failures.insert(place.clone(), "BridgeExists");
    assert_eq!(reporter.settle(&mut cluster), ["Warning BridgeExists"]);
    cluster.failures.remove(&place);
    assert_eq!(reporter.settle(&mut cluster), ["Normal Ready"]);
    cluster.foreign_nad("other", "blue");
    cluster.namespace("other", &[("team", "a")]);
    let events = reporter.settle(&mut cluster);
    assert!(events.contains(&"Warning NameConflict".to_owned()), "{events:?}");
    cluster.delete_network("blue");
    assert_eq!(reporter.settle(&mut cluster), ["Normal Terminating", "Warning InUse"]);
}

#[test]
fn a_new_leader_does_not_report_what_an_earlier_one_reported() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}}));
    cluster.settle();
    let mut reporter = Reporter::default();
    cluster.attach("node-a", "blue", 2);
    assert_eq!(reporter.settle(&mut cluster), [""; 0]);
}
