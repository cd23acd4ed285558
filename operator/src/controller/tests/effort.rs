//! What a pass leaves alone because nothing of it changed.

use super::super::changes::Changes;
use super::super::diff::Write;
use super::super::events;
use super::super::follow_up::FollowUp;
use super::super::metrics::Metrics;
use super::from_nad::open_vswitch;
use super::model::Cluster;
use prometheus::Registry;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

fn has_status(writes: &[Write], name: &str) -> bool {
    writes.iter().any(|write| matches!(write, Write::Status { network, .. } if network == name))
}

#[test]
fn a_status_that_was_put_off_comes_back_when_it_is_asked_for_or_something_changes() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.attach("node-a", "blue", 1);
    cluster.agents();
    let put_off = |cluster: &mut Cluster| {
        assert!(has_status(&cluster.look(), "blue"));
        cluster.ledger.put_off_statuses(|network| network == "blue");
        assert!(!has_status(&cluster.look(), "blue"), "it is compared in each pass");
    };
    put_off(&mut cluster);
    cluster.ledger.compare_status("blue");
    put_off(&mut cluster);
    cluster.attach("node-b", "blue", 1);
    cluster.agents();
    put_off(&mut cluster);
    cluster.ledger.compare_status("blue");
    cluster.settle();
    assert_eq!(cluster.status("blue").attachments, 2);
}

#[test]
fn a_status_that_comes_too_soon_is_written_in_its_time() {
    let metrics = Arc::new(Metrics::register(&Registry::new()).unwrap());
    let (announcer, _notices) = events::queue(metrics.dropped_events());
    let (mut follow_up, start) = (FollowUp::new(metrics, announcer), Instant::now());
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    cluster.attach("node-a", "blue", 1);
    cluster.agents();
    // Nothing is written, so that the status stays to be written all the time.
    let mut pass = |at: u64| {
        let now = start + Duration::from_millis(at);
        follow_up.begin(&cluster.inputs, &Changes::default(), &mut cluster.ledger, now);
        let mut writes = cluster.look();
        let offered = has_status(&writes, "blue");
        let due = follow_up.before(&cluster.inputs, &mut cluster.ledger, &mut writes, now);
        (offered, has_status(&writes, "blue"), due.map(|due| due.duration_since(start).as_millis()))
    };
    assert_eq!(pass(0), (true, true, None));
    assert_eq!(pass(100), (true, false, Some(1_000)));
    assert_eq!(pass(200), (false, false, Some(1_000)), "it is not even compared");
    assert_eq!(pass(1_000), (true, true, None));
}

#[test]
fn hand_written_definitions_are_looked_at_only_when_they_or_what_they_name_changed() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.definition("team-a", "one", &open_vswitch("br0").to_string());
    cluster.settle();
    assert_eq!(cluster.ledger.notices(), None);

    let mut is_looked_at = |change: fn(&mut Cluster)| {
        change(&mut cluster);
        cluster.look();
        cluster.ledger.notices().is_some()
    };
    assert!(!is_looked_at(|cluster| cluster.attach("node-a", "blue", 1)));
    assert!(!is_looked_at(|cluster| cluster.agents()));
    assert!(!is_looked_at(|cluster| cluster.node("node-b", false)));
    assert!(!is_looked_at(|cluster| cluster.inputs.networks.get_mut("blue").unwrap().status = None));
    assert!(!is_looked_at(|cluster| cluster.foreign_definition("other", "theirs")));
    assert!(is_looked_at(|cluster| cluster.namespace("new", &[])));
    assert!(is_looked_at(|cluster| cluster.definition("team-a", "one", "{")));
    assert!(is_looked_at(|cluster| cluster.delete_definition("team-a", "one")));
    assert!(is_looked_at(|cluster| cluster.network("blue", &json!({"engine": "VPP", "namespaceSelector": {}}))));
    assert!(is_looked_at(|cluster| cluster.inputs.networks.get_mut("blue").unwrap().has_from_nad_label = true));
}
