//! Validation, and that a rejection changes nothing that works.

use super::super::write::{Target, Write};
use super::model::{Cluster, key};
use serde_json::json;
use usnet_crds::BridgeDomainId;
use usnet_crds::Phase::{Active, Draining};

fn on_bridge(bridge: &str) -> serde_json::Value {
    json!({"engine": "OVS", "namespaceSelector": {"matchLabels": {"team": "a"}}, "bridge": {"name": bridge}})
}

#[test]
fn a_bad_edit_leaves_nodes_and_nads_as_they_are() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let (compiled, nads) = (cluster.compiled.clone(), cluster.nads.clone());
    for bad in [json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"mtu": 1}}), json!({"engine": "?"})] {
        cluster.network("blue", &bad);
        cluster.settle();
        assert_eq!((&cluster.compiled, &cluster.nads), (&compiled, &nads));
        assert_eq!(cluster.condition("blue", "Accepted"), "False Invalid");
        assert_eq!(cluster.condition("blue", "Stalled"), "True Invalid");
        assert_eq!(cluster.status("blue").observed_generation, Some(cluster.cache.networks["blue"].generation));
    }
    assert_eq!(
        cluster.message("blue", "Ready"),
        "the object cannot be read: unknown variant `?`, expected `OVS` or `VPP` at line 1 column 13"
    );
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
}

#[test]
fn a_field_that_breaks_a_rule_is_named() {
    let mut cluster = Cluster::new();
    cluster.network("blue", &json!({"engine": "OVS", "namespaceSelector": {}, "bridge": {"mtu": 1}}));
    cluster.settle();
    assert_eq!(cluster.message("blue", "Ready"), "spec.bridge.mtu: MTU 1 is out of range: use 576 to 9702");
    assert!(cluster.networks_on("node-a").is_empty());
}

#[test]
fn of_two_networks_with_one_bridge_the_older_has_it() {
    let mut cluster = Cluster::new();
    cluster.network("older", &on_bridge("br0"));
    cluster.network("a-younger", &on_bridge("br0"));
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("older".to_owned(), Active)]);
    assert_eq!(cluster.condition("older", "Ready"), "True AllNodes");
    assert_eq!(cluster.condition("a-younger", "Accepted"), "False BridgeConflict");
    let message = cluster.message("a-younger", "Accepted");
    assert!(message.contains("bridge br0 already belongs to network older"), "{message}");
    cluster.delete_network("older");
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("a-younger".to_owned(), Active)]);
}

#[test]
fn of_two_networks_with_one_bridge_domain_the_younger_must_choose_another_id() {
    let mut cluster = Cluster::new();
    cluster.simple_vpp_network("older");
    let id = BridgeDomainId::default_for(&"older".parse().unwrap()).get();
    cluster.network("a-younger", &json!({"engine": "VPP", "namespaceSelector": {}, "bridge": {"id": id}}));
    cluster.settle();
    assert_eq!(cluster.condition("older", "Ready"), "True AllNodes");
    assert_eq!(cluster.condition("a-younger", "Stalled"), "True BridgeConflict");
    let message = cluster.message("a-younger", "Accepted");
    let expected = format!("spec.bridge.id: bridge domain {id} already belongs to network older: ");
    assert!(message.starts_with(&expected) && message.contains("first node-a"), "{message}");
}

#[test]
fn a_bridge_and_a_bridge_domain_of_one_name_are_two() {
    let mut cluster = Cluster::new();
    cluster.network("with-ovs", &on_bridge("4"));
    cluster.network("with-vpp", &json!({"engine": "VPP", "namespaceSelector": {}, "bridge": {"id": 4}}));
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("with-ovs".to_owned(), Active), ("with-vpp".to_owned(), Active)]);
}

#[test]
fn engine_rules_are_validated_without_cel_too() {
    let mut cluster = Cluster::new();
    for (spec, field) in [
        (json!({"engine": "OVS", "namespaceSelector": {}, "port": {"type": "Memif"}}), "spec.port.type: "),
        (json!({"engine": "VPP", "namespaceSelector": {}, "bridge": {"name": "br0"}}), "spec.bridge.name: "),
        (
            json!({"engine": "VPP", "namespaceSelector": {}, "bridge": {"macAgeSeconds": 90}}),
            "spec.bridge.macAgeSeconds: ",
        ),
    ] {
        cluster.network("blue", &spec);
        cluster.settle();
        assert_eq!(cluster.condition("blue", "Accepted"), "False Invalid");
        let message = cluster.message("blue", "Accepted");
        assert!(message.starts_with(field), "{message}");
    }
    assert!(cluster.networks_on("node-a").is_empty());
}

#[test]
fn a_bridge_in_use_is_not_taken_by_an_older_network() {
    let mut cluster = Cluster::new();
    let on_node = |node: &str| {
        let mut spec = on_bridge("br0");
        spec["nodeSelector"] = json!({"matchLabels": {"host": node}});
        spec
    };
    cluster.network("older", &on_node("node-a"));
    cluster.network("younger", &on_node("node-b"));
    cluster.settle();
    cluster.network("older", &on_bridge("br0"));
    cluster.settle();
    assert_eq!(cluster.networks_on("node-b"), [("younger".to_owned(), Active)]);
    assert_eq!(cluster.networks_on("node-a"), [("older".to_owned(), Active)]);
    assert_eq!(cluster.condition("older", "Accepted"), "True Valid", "it has the bridge on one of its nodes");
    assert_eq!(cluster.condition("older", "Programmed"), "False BridgeConflict");
    assert_eq!(cluster.condition("older", "Stalled"), "True BridgeConflict");
    assert_eq!(cluster.condition("younger", "Ready"), "True AllNodes");
}

#[test]
fn a_bridge_stays_with_a_deleted_network_where_its_pods_are() {
    let mut cluster = Cluster::new();
    cluster.network("first", &on_bridge("br0"));
    cluster.settle();
    cluster.attach("node-a", "first", 1);
    cluster.report();
    cluster.delete_network("first");
    cluster.settle();
    cluster.network("second", &on_bridge("br0"));
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("first".to_owned(), Draining)]);
    assert_eq!(cluster.networks_on("node-b"), [("second".to_owned(), Active)]);
    assert_eq!(cluster.condition("second", "Programmed"), "False BridgeConflict");
    cluster.attach("node-a", "first", 0);
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("second".to_owned(), Active)]);
    assert_eq!(cluster.condition("second", "Ready"), "True AllNodes");
}

#[test]
fn a_rejected_network_is_removed_from_a_drained_node() {
    let mut cluster = Cluster::new();
    let only = |host: &str| {
        let mut spec = on_bridge("br0");
        spec["nodeSelector"] = json!({"matchLabels": {"host": host}});
        spec
    };
    cluster.network("first", &only("node-a"));
    cluster.settle();
    cluster.attach("node-a", "first", 1);
    cluster.report();
    cluster.network("first", &only("node-b"));
    cluster.settle();
    cluster.network("first", &json!({"engine": "?"}));
    cluster.settle();
    assert_eq!(cluster.networks_on("node-a"), [("first".to_owned(), Draining)]);
    cluster.attach("node-a", "first", 0);
    cluster.report();
    cluster.settle();
    assert!(cluster.networks_on("node-a").is_empty());
    assert_eq!(cluster.networks_on("node-b"), [("first".to_owned(), Active)]);
}

#[test]
fn a_nad_of_another_owner_affects_its_namespace_alone() {
    let mut cluster = Cluster::new();
    cluster.foreign_nad("team-a", "blue");
    cluster.namespace("third", &[("team", "a")]);
    let foreign = cluster.nads[&key("team-a", "blue")].clone();
    cluster.simple_network("blue");
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DefinitionsReady"), "False NameConflict");
    let message = cluster.message("blue", "DefinitionsReady");
    assert!(message.contains("NetworkAttachmentDefinition team-a/blue is not owned by usnet"), "{message}");
    for (kind, expected) in
        [("Ready", "True AllNodes"), ("Accepted", "True Valid"), ("Programmed", "True AllNodes"), ("Stalled", "")]
    {
        assert_eq!(cluster.condition("blue", kind), expected);
    }
    assert_eq!(cluster.nads[&key("team-a", "blue")], foreign);
    assert_eq!(cluster.generated("blue"), ["third"]);
    cluster.delete_network("blue");
    cluster.settle();
    assert_eq!(cluster.nads, [(key("team-a", "blue"), foreign)].into());
}

#[test]
fn a_generated_nad_that_lost_its_owner_is_adopted_again() {
    let mut cluster = Cluster::new();
    cluster.simple_network("blue");
    cluster.settle();
    let lost = cluster.nads[&key("team-a", "blue")].clone();
    cluster.put_nad(key("team-a", "blue"), super::model::Object { owner: None, ..lost });
    cluster.settle();
    assert_eq!(cluster.condition("blue", "Ready"), "True AllNodes");
    assert!(cluster.nads[&key("team-a", "blue")].owner.is_some());
}

const QUOTA: &str = "blue is forbidden: exceeded quota: none";

#[test]
fn a_namespace_that_refuses_its_nad_is_named_and_affects_itself_alone() {
    let mut cluster = Cluster::new();
    cluster.namespace("third", &[("team", "a")]);
    cluster.refusing.insert("team-a".to_owned(), QUOTA.to_owned());
    cluster.simple_network("blue");
    cluster.settle();
    for (kind, expected) in [
        ("Ready", "True AllNodes"),
        ("Accepted", "True Valid"),
        ("DefinitionsReady", "False DefinitionRefused"),
        ("Stalled", ""),
        ("Reconciling", ""),
    ] {
        assert_eq!(cluster.condition("blue", kind), expected);
    }
    let expected = format!(
        "1 of 1 namespace has the definition; namespace team-a refuses NetworkAttachmentDefinition blue: {QUOTA}; it is tried again at most 30 s apart"
    );
    assert_eq!(cluster.message("blue", "DefinitionsReady"), expected);
    assert_eq!(cluster.generated("blue"), ["third"]);
    // A controller that begins to lead does not know who refuses, and changes nothing.
    let known = std::mem::take(&mut cluster.refused);
    let writes = cluster.evaluate_everything();
    assert!(!writes.iter().any(|write| matches!(write, Write::Status { .. })), "{writes:?}");
    cluster.refused = known;
    // A namespace that needs the network later has it, and the network does not become not Ready.
    cluster.namespace("fourth", &[("team", "a")]);
    cluster.pass();
    assert_eq!(cluster.condition("blue", "DefinitionsReady"), "False DefinitionRefused");
    cluster.settle();
    assert_eq!(cluster.generated("blue"), ["fourth", "third"]);
    cluster.refusing.clear();
    cluster.mark(Target::Nad(key("team-a", "blue")));
    cluster.settle();
    assert_eq!(cluster.condition("blue", "DefinitionsReady"), "True Synced");
    assert_eq!(cluster.generated("blue"), ["fourth", "team-a", "third"]);
}

#[test]
fn many_namespaces_that_refuse_are_counted_and_a_few_of_them_named() {
    let mut cluster = Cluster::new();
    for number in 0..8 {
        let name = format!("team-{number}");
        cluster.namespace(&name, &[("team", "a")]);
        cluster.refusing.insert(name, QUOTA.to_owned());
    }
    cluster.simple_network("blue");
    cluster.settle();
    let message = cluster.message("blue", "DefinitionsReady");
    assert!(message.contains("namespaces team-0, team-1, team-2, team-3, team-4 and 3 more refuse"), "{message}");
    assert!(message.contains(QUOTA), "{message}");
    // One that is gone, and one that the network does not select any more.
    cluster.cache.namespaces.remove("team-0");
    cluster.namespace("team-1", &[]);
    cluster.settle();
    let message = cluster.message("blue", "DefinitionsReady");
    assert!(message.contains("namespaces team-2, team-3, team-4, team-5, team-6 and 1 more"), "{message}");
    cluster.delete_network("blue");
    cluster.settle();
    assert_eq!(cluster.generated("blue"), [""; 0]);
}
