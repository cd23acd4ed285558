use super::dry_run::Response;
use super::files::{Manifest, parse};
use super::input::Input;
use super::nodes::Effect;
use super::report::report;
use super::text::text;
use crate::model::Snapshot;
use crate::model::testing::{
    add, add_network, compiled_object, condition, merge, network_object, network_report, snapshot, state_object,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use usnet_planner::model::attachment::Record;
use usnet_planner::testing::{network, record};

/// A cluster with network blue, and this number of pods on node-a.
fn cluster(pods: i64) -> Snapshot {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    let report = network_report("blue", "Programmed", &json!({"attachments": pods, "connected": pods}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    snapshot
}

/// A manifest of blue with these parts of its spec, and the present blue.
fn input(spec: &Value, records: &[Record]) -> Input {
    // The API server adds defaults.
    input_from(&json!({"bridge": {"mtu": 1500}}), spec, records)
}

/// Like [`input`], with these parts in the present spec.
fn input_from(base: &Value, spec: &Value, records: &[Record]) -> Input {
    let mut manifest = network_object("blue", base);
    merge(&mut manifest["spec"], spec);
    merge(
        &mut manifest,
        &json!({"apiVersion": "usnet.dev/v1alpha1", "status": null, "metadata": {"uid": null, "generation": null, "finalizers": null}}),
    );
    let mut manifests = parse(&serde_yaml::to_string(&manifest).unwrap()).unwrap();
    let Manifest::Network(manifest) = manifests.remove(0) else { panic!("{manifests:?}") };
    let mut existing = network_object("blue", base);
    merge(&mut existing, &json!({"apiVersion": "usnet.dev/v1alpha1"}));
    let mut compiled = compiled_object(&existing);
    merge(&mut compiled, &json!({"apiVersion": "usnet.dev/v1alpha1"}));
    let compiled: usnet_crds::CompiledNetwork = serde_json::from_value(compiled).unwrap();
    let records = BTreeMap::from([("node-a".to_owned(), records.to_vec())]);
    Input {
        manifest,
        existing: Some(serde_json::from_value(existing).unwrap()),
        compiled: Some(compiled.spec),
        response: None,
        records,
    }
}

/// The example of the documentation: another MTU and VLAN, with one pod on node-a.
pub(crate) fn example(snapshot: &Snapshot) -> String {
    let spec = json!({"bridge": {"mtu": 9000}, "port": {"vlan": {"mode": "Access", "tag": 200}}});
    let mut record = record("c1", &network("blue"));
    (record.pod.namespace, record.pod.name) = ("web".to_owned(), "dpdk-0".to_owned());
    text(&report(snapshot, &[input(&spec, &[record])], Vec::new()))
}

#[test]
fn the_same_manifest_changes_nothing() {
    let snapshot = cluster(1);
    let report = report(&snapshot, &[input(&json!({}), &[record("c1", &network("blue"))])], vec!["Pod x".to_owned()]);
    assert!(report.is_empty() && !report.is_rejected(), "{report:?}");
    assert_eq!(text(&report), "UserspaceNetwork blue does not change\n\nNot planned: Pod x\n");
}

#[test]
fn settings_that_change_in_place_name_the_pods_concerned() {
    let snapshot = cluster(2);
    let spec = json!({"bridge": {"mtu": 9000}, "port": {"vlan": {"mode": "Access", "tag": 200}}});
    let report = report(&snapshot, &[input(&spec, &[record("c1", &network("blue"))])], Vec::new());
    let text = text(&report);
    for part in [
        "UserspaceNetwork blue changes",
        "spec.bridge.mtu  1500 -> 9000",
        "and 1 not known by name",
        "On node-a:\n    set MTU 9000 of bridge br-blue\n    set MTU 9000 and VLAN 200 on port",
        "VLAN 200",
        "Running pods keep the old spec.bridge.mtu",
        "VLANs change under traffic",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let nodes: Vec<_> =
        report.networks[0].nodes.iter().map(|node| (node.node.as_str(), node.effect, node.operations.len())).collect();
    assert_eq!(nodes, [("node-a", Effect::Changed, 2), ("node-b", Effect::Changed, 1)]);
}

#[test]
fn nodes_that_lose_the_network_drain_or_remove_it() {
    let snapshot = cluster(1);
    let spec = json!({"nodeSelector": {"matchLabels": {"rack": "z"}}});
    let report = report(&snapshot, &[input(&spec, &[])], Vec::new());
    let nodes: Vec<_> = report.networks[0]
        .nodes
        .iter()
        .map(|node| (node.node.as_str(), node.effect, node.operations.concat()))
        .collect();
    let removed = "remove bridge br-blue of network blue".to_owned();
    assert_eq!(nodes, [("node-a", Effect::Drains, String::new()), ("node-b", Effect::Removed, removed)]);
    assert!(text(&report).contains("1 attached interfaces keep the network until their pods end"), "{}", text(&report));
}

#[test]
fn a_node_that_gets_the_network_back_while_pods_use_it_does_nothing() {
    let snapshot = cluster(1);
    let base = json!({"bridge": {"mtu": 1500}, "nodeSelector": {"matchLabels": {"rack": "z"}}});
    let again = json!({"nodeSelector": null});
    let report = report(&snapshot, &[input_from(&base, &again, &[record("c1", &network("blue"))])], Vec::new());
    let nodes = report.networks[0].nodes.iter().map(|node| (node.node.as_str(), node.effect, node.operations.len()));
    assert_eq!(nodes.collect::<Vec<_>>(), [("node-a", Effect::Added, 0), ("node-b", Effect::Added, 1)]);
}

#[test]
fn a_fixed_attachment_changes_vlans_only_if_it_has_one() {
    let snapshot = cluster(1);
    let traffic = |fixed: Value| {
        let mut pod = json!({"namespace": "default", "pod": "c1"});
        merge(&mut pod, &fixed);
        let records = [record("c1", &network("blue"))];
        let mut report = report(&snapshot, &[input(&json!({"attachments": [pod]}), &records)], Vec::new());
        let change = report.networks.remove(0);
        assert_eq!(change.nodes[0].operations.len(), 1, "{change:?}");
        change.traffic.len()
    };
    assert_eq!(traffic(json!({"rateLimit": {"ingressKbps": 1000}})), 0);
    assert_eq!(traffic(json!({"vlan": {"mode": "Access", "tag": 7}})), 1);
}

/// Reservations are not in the manifest.
#[test]
fn what_reservations_fix_stays_while_the_network_allows_any() {
    let mut snapshot = cluster(1);
    let fixed = json!({"namespace": "default", "pod": "c1", "vlan": {"mode": "Access", "tag": 7}});
    let fixed: usnet_crds::FixedAttachment = serde_json::from_value(fixed).unwrap();
    snapshot.cache.compiled.get_mut("blue").unwrap().attachments.push(fixed.clone());
    let traffic = |base: Value| {
        let mut input = input_from(&base, &json!({"bridge": {"mtu": 9000}}), &[record("c1", &network("blue"))]);
        input.compiled.as_mut().unwrap().attachments.push(fixed.clone());
        report(&snapshot, &[input], Vec::new()).networks.remove(0).traffic.join(" ")
    };
    let kept = traffic(json!({"reservations": {"vlans": ["7"]}}));
    assert!(kept.contains("MTUs") && !kept.contains("VLANs change"), "{kept}");
    let removed = traffic(json!({}));
    assert!(removed.contains("VLANs change"), "{removed}");
}

#[test]
fn a_new_network_is_planned_on_each_node_with_the_problems() {
    let mut snapshot = cluster(0);
    let mut state = state_object("node-b", &json!([]));
    state["status"]["conditions"][1] = condition("OVSConnected", "False", "Disconnected", "refused");
    add(&mut snapshot, &state);
    let new = |bridge: &str| {
        let mut new = input(&json!({"bridge": {"name": bridge}}), &[]);
        new.manifest.name = "green".to_owned();
        new.manifest.object["metadata"]["name"] = json!("green");
        (new.existing, new.compiled) = (None, None);
        new.records.clear();
        report(&snapshot, &[new], Vec::new())
    };
    let report = new("br-green");
    let text = text(&report);
    for part in [
        "UserspaceNetwork green is new",
        "node-a  is added",
        "create bridge br-green for network green",
        "applied when it is (refused)",
        "Definitions created in 1 namespace: web",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let taken = new("br-blue");
    let problem = taken.networks[0].nodes[0].problem.as_deref().unwrap();
    assert!(problem.starts_with("BridgeConflict") && problem.contains("network blue"), "{problem}");
}

#[test]
fn a_rejected_manifest_changes_nothing() {
    let snapshot = cluster(1);
    let invalid = report(&snapshot, &[input(&json!({"bridge": {"mtu": 1}}), &[])], Vec::new());
    assert!(
        invalid.is_rejected() && text(&invalid).contains("Invalid: ") && text(&invalid).contains("spec.bridge.mtu"),
        "{}",
        text(&invalid)
    );
    let mut refused = input(&json!({"bridge": {"mtu": 9000}}), &[]);
    refused.response = Some(Response::Rejected("engine cannot change".to_owned()));
    let refused = report(&snapshot, &[refused], Vec::new());
    assert!(refused.is_rejected() && refused.networks[0].nodes.is_empty());
    assert!(
        text(&refused).contains("would be rejected\n  RejectedByApiServer: engine cannot change"),
        "{}",
        text(&refused)
    );
    let unsafe_addresses = json!({"topology": {"type": "Overlay", "overlay": {}}, "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.1.0.0/16"}]]}});
    let report = report(&snapshot, &[input(&unsafe_addresses, &[])], Vec::new());
    assert!(text(&report).contains("AddressesNotUnique"), "by the controller's own rules: {}", text(&report));
}

#[test]
fn manifests_are_read_from_several_documents_and_lists() {
    let text =
        "---\n---\nkind: Pod\nmetadata: {name: a}\n---\nkind: List\nitems: [{kind: Namespace, metadata: {name: b}}]\n";
    assert_eq!(parse(text).unwrap(), [Manifest::Other("Pod a".to_owned()), Manifest::Other("Namespace b".to_owned())]);
    assert_eq!(parse("").unwrap(), []);
    assert!(parse("a: [").unwrap_err().contains("document 1"));
    assert!(parse("kind: Pod\n").unwrap_err().contains("metadata.name is missing"));
}
