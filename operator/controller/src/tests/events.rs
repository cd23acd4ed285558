//! The Events during the lifecycle of a network, and of an uplink.

use super::super::events::ReportedConditions;
use super::super::write::Write;
use super::model::Cluster;
use serde_json::json;
use usnet_crds::conditions::reason::NIC_MISSING;

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
            let before = cluster.cache.clone();
            let writes = cluster.pass();
            writes.iter().for_each(|write| self.reported_conditions.remember(&before, &write.target()));
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
    cluster.refusing.insert("third".to_owned(), "exceeded quota".to_owned());
    cluster.namespace("third", &[("team", "a")]);
    let events = reporter.settle(&mut cluster);
    assert_eq!(events.iter().filter(|event| *event == "Warning DefinitionRefused").count(), 1, "{events:?}");
    assert_eq!(reporter.settle(&mut cluster), [""; 0]);
    cluster.refusing.clear();
    cluster.cache.namespaces.remove("third");
    cluster.settle();
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

#[test]
fn each_transition_of_an_uplink_is_reported_once() {
    let (mut cluster, mut reporter) = (Cluster::new(), Reporter::default());
    cluster.simple_uplink("fab", &["100-199"]);
    assert_eq!(reporter.settle(&mut cluster), ["Normal Ready"]);
    cluster.network_on_uplink("blue", "fab", Some(142));
    let of_network = reporter.settle(&mut cluster);
    assert!(of_network.iter().all(|event| event.starts_with("Normal")), "{of_network:?}");
    cluster.set_uplink_failure("node-a", "fab", Some(NIC_MISSING));
    assert!(reporter.settle(&mut cluster).contains(&format!("Warning {NIC_MISSING}")));
    cluster.set_uplink_failure("node-a", "fab", None);
    assert!(reporter.settle(&mut cluster).contains(&"Normal Ready".to_owned()));
    cluster.simple_uplink("fab", &["100-141"]);
    assert!(reporter.settle(&mut cluster).contains(&"Warning VlanInUse".to_owned()));
    cluster.delete_uplink("fab");
    let events = reporter.settle(&mut cluster);
    assert!(events.contains(&"Warning InUse".to_owned()), "{events:?}");
    assert_eq!(reporter.settle(&mut cluster), [""; 0]);
}

#[test]
fn an_event_of_an_uplink_names_it() {
    let mut cluster = Cluster::new();
    cluster.simple_uplink("fab", &["100-199"]);
    cluster.settle();
    let status = cluster.cache.uplinks["fab"].status.clone().unwrap();
    let write = Write::UplinkStatus { uplink: "fab".to_owned(), uid: "uid-1".to_owned(), status: Box::new(status) };
    let events = ReportedConditions::default().transitions(&write);
    let regarding = &events[0].regarding;
    let named = [&regarding.kind, &regarding.name, &regarding.uid].map(|part| part.clone().unwrap());
    assert_eq!(named, ["UserspaceUplink", "fab", "uid-1"]);
}
