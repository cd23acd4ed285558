//! Which events a network's life makes.

use super::super::diff::Write;
use super::super::news::News;
use super::model::Cluster;
use serde_json::json;

/// A controller that tells what it writes.
struct Teller {
    news: News,
    told: Vec<String>,
}

impl Teller {
    /// One that has just become the leader.
    fn new() -> Self {
        Self { news: News::default(), told: Vec::new() }
    }

    /// Passes until all is quiet; the events of them, as `type reason`.
    fn settle(&mut self, cluster: &mut Cluster) -> Vec<String> {
        for _ in 0..12 {
            let before = cluster.inputs.clone();
            let writes = cluster.pass();
            self.news.remember(&before, &writes);
            self.tell(&writes);
            cluster.agents();
        }
        std::mem::take(&mut self.told)
    }

    fn tell(&mut self, writes: &[Write]) {
        let notices = writes.iter().flat_map(|write| self.news.of(write));
        self.told.extend(notices.map(|notice| format!("{:?} {}", notice.kind, notice.reason)).collect::<Vec<_>>());
    }
}

#[test]
fn each_transition_of_a_life_is_told_once() {
    let (mut cluster, mut teller) = (Cluster::new(), Teller::new());
    cluster.simple_network("blue");
    assert_eq!(teller.settle(&mut cluster), ["Normal Syncing", "Normal Ready"]);
    cluster.attach("node-a", "blue", 1);
    assert_eq!(teller.settle(&mut cluster), [""; 0], "a count is no transition");
    let place = ("node-b".to_owned(), "blue".to_owned());
    cluster.failures.insert(place.clone(), "BridgeExists");
    assert_eq!(teller.settle(&mut cluster), ["Warning BridgeExists"]);
    cluster.failures.remove(&place);
    assert_eq!(teller.settle(&mut cluster), ["Normal Ready"]);
    cluster.delete_network("blue");
    let told = teller.settle(&mut cluster);
    assert_eq!(told, ["Normal Terminating", "Warning InUse"]);
}

#[test]
fn a_write_that_the_watch_has_not_shown_yet_is_not_told_again() {
    let (mut cluster, mut teller) = (Cluster::new(), Teller::new());
    cluster.simple_network("blue");
    teller.settle(&mut cluster);
    let stale = cluster.inputs.clone();
    cluster.failures.insert(("node-b".to_owned(), "blue".to_owned()), "EngineRefused");
    cluster.agents();
    let writes = cluster.pass();
    for _ in 0..2 {
        teller.news.remember(&stale, &writes);
        teller.tell(&writes);
    }
    assert_eq!(teller.told, ["Warning EngineRefused"]);
}

#[test]
fn a_new_leader_does_not_tell_what_an_earlier_one_told() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}}));
    cluster.settle();
    let mut teller = Teller::new();
    cluster.attach("node-a", "blue", 2);
    assert_eq!(teller.settle(&mut cluster), [""; 0]);
}
