//! How GitOps tools evaluate a network, by the published rules of kstatus (sigs.k8s.io/cli-utils,
//! `pkg/kstatus/status`).

use super::model::Cluster;
use serde_json::json;
use usnet_crds::conditions::find;

#[derive(Debug, PartialEq, Eq)]
enum Kstatus {
    InProgress,
    Failed,
    Current,
    Terminating,
    NotFound,
}

use Kstatus::{Current, Failed, InProgress, NotFound, Terminating};

/// The rules in their published order.
fn kstatus(cluster: &Cluster, network: &str) -> Kstatus {
    let Some(network) = cluster.cache.networks.get(network) else { return NotFound };
    if network.is_deleting() {
        return Terminating;
    }
    // An object without conditions counts as healthy.
    let Some(status) = &network.status else { return Current };
    let is = |kind: &str, value: &str| find(&status.conditions, kind).map(|condition| condition.status == value);
    if status.observed_generation.is_some_and(|observed| observed != network.generation) {
        return InProgress;
    }
    if is("Reconciling", "True") == Some(true) {
        return InProgress;
    }
    if is("Stalled", "True") == Some(true) {
        return Failed;
    }
    match is("Ready", "True") {
        Some(false) => InProgress,
        Some(true) | None => Current,
    }
}

/// Runs passes and agents until nothing changes; all readings that differ from the one before.
fn readings(cluster: &mut Cluster, network: &str) -> Vec<Kstatus> {
    let mut readings = vec![kstatus(cluster, network)];
    let mut read = |cluster: &Cluster| {
        let now = kstatus(cluster, network);
        if readings.last() != Some(&now) {
            readings.push(now);
        }
    };
    for _ in 0..12 {
        cluster.pass();
        read(cluster);
        cluster.report();
        read(cluster);
    }
    readings
}

/// A network that was just created, with the status that the CRD gives it.
fn begun() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.give_first_status("blue");
    cluster
}

#[test]
fn creation_is_in_progress_until_it_is_current() {
    let mut cluster = begun();
    assert_eq!(cluster.condition("blue", "Ready"), "Unknown WaitingForController");
    assert_eq!(readings(&mut cluster, "blue"), [InProgress, Current]);
}

#[test]
fn a_change_is_in_progress_from_the_moment_when_it_is_written() {
    let mut cluster = begun();
    cluster.settle();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"mtu": 9000}}));
    assert_eq!(readings(&mut cluster, "blue"), [InProgress, Current]);
}

#[test]
fn a_transient_failure_is_in_progress_and_a_terminal_one_is_failed() {
    let mut cluster = begun();
    cluster.settle();
    let place = ("node-a".to_owned(), "blue".to_owned());
    cluster.failures.insert(place.clone(), "EngineRefused");
    assert_eq!(readings(&mut cluster, "blue"), [Current, InProgress]);
    cluster.failures.insert(place.clone(), "BridgeExists");
    assert_eq!(readings(&mut cluster, "blue"), [InProgress, Failed]);
    cluster.failures.remove(&place);
    assert_eq!(readings(&mut cluster, "blue"), [Failed, Current]);
}

#[test]
fn a_rejected_spec_is_failed_until_it_is_corrected() {
    let mut cluster = begun();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"mtu": 1}}));
    assert_eq!(readings(&mut cluster, "blue"), [InProgress, Failed]);
    cluster.simple_network("blue");
    assert_eq!(readings(&mut cluster, "blue"), [InProgress, Current], "failed no more from the new generation on");
}

#[test]
fn a_blocked_deletion_is_terminating_until_the_network_is_deleted() {
    let mut cluster = begun();
    cluster.attach("node-a", "blue", 1);
    cluster.settle();
    cluster.delete_network("blue");
    assert_eq!(readings(&mut cluster, "blue"), [Terminating]);
    assert_eq!(cluster.condition("blue", "DeletionBlocked"), "True InUse");
    let generation = cluster.cache.networks["blue"].generation;
    assert_eq!(cluster.status("blue").observed_generation, Some(generation));
    cluster.attach("node-a", "blue", 0);
    assert_eq!(readings(&mut cluster, "blue"), [Terminating, NotFound]);
}

#[test]
fn every_condition_speaks_of_the_generation_that_the_status_speaks_of() {
    let mut cluster = begun();
    cluster.settle();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"mtu": 9000}}));
    for _ in 0..4 {
        cluster.pass();
        let status = cluster.status("blue");
        let observed = status.conditions.iter().map(|condition| condition.observed_generation);
        assert!(observed.into_iter().all(|observed| observed == Some(2) && status.observed_generation == Some(2)));
        cluster.report();
    }
}

#[test]
fn failures_of_other_nodes_do_not_move_what_is_listed() {
    let mut cluster = Cluster::new();
    for index in 10..30 {
        let node = format!("node-{index}");
        cluster.node(&node, true);
        cluster.failures.insert((node, "blue".to_owned()), "EngineRefused");
    }
    cluster.simple_network("blue");
    cluster.settle();
    let before = cluster.status("blue");
    cluster.failures.remove(&("node-29".to_owned(), "blue".to_owned()));
    cluster.settle();
    let after = cluster.status("blue");
    assert_eq!((before.nodes.failed, after.nodes.failed), (20, 19));
    assert_eq!(before.failures, after.failures);
    let since = |status: &usnet_crds::UserspaceNetworkStatus| {
        find(&status.conditions, "Ready").map(|ready| ready.last_transition_time.clone())
    };
    assert_eq!(since(&before), since(&after));
}

/// As in a rename, in which a tool deletes the one and creates the other.
#[test]
fn what_waits_for_a_network_that_is_being_deleted_is_in_progress_until_it_is_gone() {
    let gateway = json!({"addresses": ["10.7.0.1/24"], "routingDomain": "core"});
    let specs = [
        json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"name": "br-lan"}}),
        json!({"engine": "OVS", "namespaceSelector": {}, "topology": {"type": "Overlay", "overlay": {"vni": 7}}}),
        json!({"engine": "VPP", "namespaceSelector": {}, "gateway": gateway}),
        json!({"engine": "OVS", "namespaceSelector": {}, "topology": {"type": "Uplink", "uplink": {"name": "fab", "vlan": 100}}}),
    ];
    for spec in specs {
        let mut cluster = Cluster::new();
        cluster.uplink(
            "fab",
            &json!({"engine": "OVS", "nics": [{"device": {"type": "Name", "name": "eth1"}}], "vlans": ["100"]}),
        );
        cluster.network("old", &spec);
        cluster.settle();
        cluster.attach("node-b", "old", 1);
        cluster.report();
        cluster.network("renamed", &spec);
        cluster.settle();
        assert_eq!(kstatus(&cluster, "renamed"), Failed, "{spec}");
        cluster.delete_network("old");
        cluster.settle();
        assert_eq!(kstatus(&cluster, "renamed"), InProgress, "{spec}");
        let message = cluster.message("renamed", "Ready");
        assert!(message.contains("old"), "{spec}: {message}");
        cluster.attach("node-b", "old", 0);
        cluster.report();
        cluster.settle();
        assert_eq!((kstatus(&cluster, "old"), kstatus(&cluster, "renamed")), (NotFound, Current), "{spec}");
    }
}
