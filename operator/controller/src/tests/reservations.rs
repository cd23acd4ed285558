//! Reservations: what the network allows, who has what, and what is compiled.

use super::model::Cluster;
use serde_json::{Value, json};
use usnet_crds::network::RESERVATIONS_MAX;

fn network(reservations: &Value) -> Value {
    json!({
        "engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}, "port": {"rateLimit": {"egressKbps": 1000}},
        "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/16"}]]},
        "attachments": [{"namespace": "team-a", "pod": "fixed", "ips": ["10.1.0.5/16"], "mac": "02:00:00:00:00:05"}],
        "reservations": reservations,
    })
}

fn allowing() -> Value {
    network(&json!({"ips": ["10.1.0.0/24", "10.1.8.0/24"], "macs": "LocallyAdministered", "vlans": ["100-199"]}))
}

/// A network that lets the namespaces `team-a` and `team-b` reserve.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.namespace("team-b", &[("team", "a")]);
    cluster.network("blue", &allowing());
    cluster.settle();
    cluster
}

fn reserve(pod: &str, fields: &Value) -> Value {
    let mut spec = json!({"network": "blue", "pod": pod});
    for (field, value) in fields.as_object().unwrap() {
        spec[field] = value.clone();
    }
    spec
}

fn ip(pod: &str, ip: &str) -> Value {
    reserve(pod, &json!({"ips": [ip]}))
}

#[track_caller]
fn assert_refused(cluster: &Cluster, namespace: &str, name: &str, reason: &str, words: &str) {
    let (ready, message) = cluster.reservation_ready(namespace, name);
    assert_eq!(ready, format!("False {reason}"), "{message}");
    assert!(message.contains(words), "{message}");
}

#[track_caller]
fn assert_ready(cluster: &Cluster, namespace: &str, name: &str) {
    let (ready, message) = cluster.reservation_ready(namespace, name);
    assert_eq!(ready, "True Reserved", "{message}");
}

#[test]
fn nodes_are_told_what_reservations_fix_and_then_these_are_ready() {
    let mut cluster = cluster();
    let all = json!({
        "ips": ["10.1.8.1/16"], "mac": "02:00:00:00:01:00", "vlan": {"mode": "Access", "tag": 142},
        "rateLimit": {"egressKbps": 500},
    });
    cluster.reservation("team-b", "all", &reserve("db-{0..9}", &all));
    cluster.pass();
    assert_eq!(cluster.reservation_ready("team-b", "all").0, "Unknown Reserving");
    cluster.settle();
    assert_ready(&cluster, "team-b", "all");
    assert_eq!(cluster.fixed("blue"), ["team-a/fixed 10.1.0.5/16", "team-b/db-{0..9} 10.1.8.1/16"]);
    let entry = serde_json::to_value(&cluster.compiled["blue"].attachments[1]).unwrap();
    assert_eq!(entry["vlan"], json!({"mode": "Access", "tag": 142}));
    assert_eq!(entry["rateLimit"], json!({"egressKbps": 500}));
    cluster.reservation("team-b", "all", &ip("db-{0..9}", "10.1.8.20/16"));
    cluster.settle();
    assert_ready(&cluster, "team-b", "all");
    assert_eq!(cluster.fixed("blue")[1], "team-b/db-{0..9} 10.1.8.20/16");
    cluster.delete_reservation("team-b", "all");
    cluster.settle();
    assert_eq!(cluster.fixed("blue"), ["team-a/fixed 10.1.0.5/16"]);
}

#[test]
fn what_the_network_does_not_allow_is_refused_with_the_field() {
    let mut cluster = cluster();
    for (name, fields, words) in [
        ("ip", json!({"ips": ["10.1.9.1/16"]}), "spec.ips[0]: 10.1.9.1 is not one of 10.1.0.0/24, 10.1.8.0/24"),
        ("mac", json!({"mac": "00:16:3e:00:00:01"}), "spec.mac: 00:16:3e:00:00:01 is not locally administered"),
        ("vlan", json!({"vlan": {"mode": "Access", "tag": 200}}), "spec.vlan: VLAN 200 is not one of 100-199"),
        ("trunk", json!({"vlan": {"mode": "Trunk", "trunks": [100, 99]}}), "spec.vlan: VLAN 99 is not"),
        ("rate", json!({"rateLimit": {"egressKbps": 2000}}), "spec.rateLimit.egressKbps: the network lets"),
        ("unlimited", json!({"rateLimit": {}}), "at most 1000 kbit/s"),
        ("subnet", json!({"ips": ["10.1.8.0/24"]}), "spec.ips[0]: "),
    ] {
        cluster.reservation("team-a", name, &reserve(name, &fields));
        cluster.settle();
        assert_refused(&cluster, "team-a", name, "NotAllowed", words);
    }
    cluster.reservation("team-a", "range", &ip("db-{0..9}", "10.1.0.250/16"));
    cluster.reservation("other", "other", &ip("web", "10.1.0.9/16"));
    cluster.reservation("team-a", "lost", &json!({"network": "red", "pod": "web"}));
    cluster.reservation("team-a", "invalid", &json!({"network": "blue", "pod": "Web"}));
    cluster.settle();
    assert_refused(&cluster, "team-a", "range", "NotAllowed", "10.1.1.3 is not one of");
    assert_refused(&cluster, "other", "other", "NotAllowed", "does not select namespace other");
    assert_refused(&cluster, "team-a", "lost", "NetworkUnknown", "there is no UserspaceNetwork red");
    assert_refused(&cluster, "team-a", "invalid", "Invalid", "spec.pod");
    assert_eq!(cluster.fixed("blue").len(), 1);
}

#[test]
fn a_network_allows_nothing_by_default_and_later_less() {
    let mut cluster = cluster();
    cluster.simple_network("plain");
    cluster.reservation("team-a", "plain", &json!({"network": "plain", "pod": "web"}));
    cluster.reservation("team-a", "db", &ip("db", "10.1.0.9/16"));
    cluster.settle();
    assert_refused(&cluster, "team-a", "plain", "NotAllowed", "lets reservations fix nothing");
    assert_ready(&cluster, "team-a", "db");
    cluster.network("blue", &network(&json!({"macs": "Any"})));
    cluster.settle();
    assert_refused(&cluster, "team-a", "db", "NotAllowed", "no addresses");
    assert_eq!(cluster.fixed("blue").len(), 1);
}

#[test]
fn a_namespace_that_is_no_longer_selected_and_a_network_that_goes_fix_nothing() {
    let mut cluster = cluster();
    cluster.reservation("team-b", "db", &ip("db", "10.1.0.9/16"));
    cluster.settle();
    cluster.namespace("team-b", &[]);
    cluster.settle();
    assert_refused(&cluster, "team-b", "db", "NotAllowed", "does not select namespace team-b");
    assert_eq!(cluster.fixed("blue").len(), 1);
    cluster.namespace("team-b", &[("team", "a")]);
    cluster.settle();
    assert_ready(&cluster, "team-b", "db");
    cluster.attach("node-a", "blue", 1);
    cluster.settle();
    cluster.delete_network("blue");
    cluster.settle();
    assert_refused(&cluster, "team-b", "db", "NetworkUnknown", "is being deleted");
    cluster.attach("node-a", "blue", 0);
    cluster.settle();
    assert_refused(&cluster, "team-b", "db", "NetworkUnknown", "there is no UserspaceNetwork blue");
}

#[test]
fn the_network_comes_first_then_what_nodes_have_then_the_older() {
    let mut cluster = cluster();
    cluster.reservation("team-a", "first", &ip("db-{0..9}", "10.1.0.10/16"));
    cluster.reservation("team-b", "second", &ip("db", "10.1.0.19/24"));
    cluster.reservation("team-a", "third", &ip("db-5", "10.1.0.99/16"));
    cluster.reservation("team-a", "fourth", &ip("web", "10.1.0.5/24"));
    cluster.reservation("team-b", "fifth", &reserve("web", &json!({"mac": "02:00:00:00:00:05"})));
    cluster.settle();
    assert_ready(&cluster, "team-a", "first");
    let of_other = "address 10.1.0.19 belongs to a UserspaceReservation of another namespace";
    assert_refused(&cluster, "team-b", "second", "AlreadyReserved", of_other);
    assert_refused(
        &cluster,
        "team-a",
        "third",
        "AlreadyReserved",
        "a pod of db-5 belongs to UserspaceReservation first",
    );
    let of_network = "address 10.1.0.5 belongs to spec.attachments of network blue";
    assert_refused(&cluster, "team-a", "fourth", "AlreadyReserved", of_network);
    assert_refused(&cluster, "team-b", "fifth", "AlreadyReserved", "MAC address 02:00:00:00:00:05 belongs to spec.att");
    // The older one cannot take back what the other one has meanwhile.
    cluster.reservation("team-a", "first", &ip("db-{0..4}", "10.1.0.10/16"));
    cluster.settle();
    assert_ready(&cluster, "team-b", "second");
    cluster.reservation("team-a", "first", &ip("db-{0..9}", "10.1.0.10/16"));
    cluster.settle();
    assert_refused(&cluster, "team-a", "first", "AlreadyReserved", "10.1.0.19");
    assert_ready(&cluster, "team-b", "second");
    cluster.delete_reservation("team-b", "second");
    cluster.settle();
    assert_ready(&cluster, "team-a", "third");
}

#[test]
fn a_bad_edit_of_the_network_changes_nothing() {
    let mut cluster = cluster();
    cluster.reservation("team-a", "db", &ip("db", "10.1.0.9/16"));
    cluster.settle();
    let mut bad = allowing();
    bad["bridge"] = json!({"mtu": 1});
    cluster.network("blue", &bad);
    cluster.reservation("team-a", "web", &ip("web", "10.1.0.11/16"));
    cluster.settle();
    assert_ready(&cluster, "team-a", "db");
    assert_eq!(cluster.reservation_ready("team-a", "web").0, "Unknown Reserving");
    assert_eq!(cluster.fixed("blue").len(), 2);
    cluster.network("blue", &allowing());
    cluster.settle();
    assert_ready(&cluster, "team-a", "web");
}

#[test]
fn one_namespace_leaves_half_of_the_places_to_others() {
    let mut cluster = cluster();
    for number in 0..RESERVATIONS_MAX + 4 {
        cluster.reservation("team-a", &format!("r{number}"), &reserve(&format!("pod-{number}"), &json!({})));
    }
    cluster.reservation("team-b", "db", &ip("db", "10.1.0.9/16"));
    cluster.settle();
    assert_ready(&cluster, "team-b", "db");
    assert_ready(&cluster, "team-a", "r126");
    assert_refused(&cluster, "team-a", "r200", "TooManyReservations", "team-a has its share of the 256");
    assert_refused(&cluster, "team-a", "r259", "TooManyReservations", "team-a has its share of the 256");
    assert_eq!(cluster.fixed("blue").len(), 2 + RESERVATIONS_MAX / 2);
}

/// Each is a write that all nodes read: the controller decides at a limited rate.
#[test]
fn many_changes_are_one_write_of_the_compiled_network() {
    let mut cluster = cluster();
    for number in 0..20 {
        cluster.reservation("team-a", &format!("r{number}"), &reserve(&format!("pod-{number}"), &json!({})));
    }
    let before = cluster.cache.compiled["blue"].version;
    cluster.settle();
    assert_eq!(cluster.cache.compiled["blue"].version, before + 1);
}
