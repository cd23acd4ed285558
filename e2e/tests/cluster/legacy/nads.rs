//! Unmodified NetworkAttachmentDefinitions of the legacy userspace CNI: bridges are created, pods
//! attach, and all of it is removed again.

use crate::support::cluster::{NODES, apply, check, eventually, get, kubectl, on_node, try_run, vsctl};
use crate::support::pods::{NODE, description, sleeping_pod, start};
use crate::support::scene::{Scene, remains, wait_ready};
use crate::support::vpp;
use serde_json::{Value, json};

const DEFINITIONS: &str = include_str!("../../../testdata/old-definitions.yaml");
const NAMES: [&str; 5] = ["old-ovs", "old-ovs-vlan", "old-vpp", "old-vpp-id", "old-vpp-vhost"];
const NETWORKS: [&str; 5] = ["ovs-br-old", "ovs-br-old-vlan", "vpp-4", "vpp-12", "vpp-5"];

fn apply_all(scene: &Scene) {
    try_run("kubectl", &["apply", "-n", &scene.name, "-f", "-"], DEFINITIONS).unwrap();
    NETWORKS.iter().for_each(|network| wait_ready(network));
}

fn delete_all(scene: &Scene) {
    kubectl(&["delete", "net-attach-def", "--all", "-n", &scene.name]);
    for network in NETWORKS {
        eventually("the network goes with its last definition", || {
            check(get(&["usn", network]).is_none(), format!("{network} is still there"))
        });
        assert_eq!(remains(network), Vec::<String>::new());
    }
}

/// The messages of a definition's events with that reason.
fn events(scene: &Scene, definition: &str, reason: &str) -> String {
    let of =
        format!("involvedObject.name={definition},involvedObject.kind=NetworkAttachmentDefinition,reason={reason}");
    kubectl(&["get", "events", "-n", &scene.name, "--field-selector", &of, "-o", "jsonpath={.items[*].message}"])
}

#[test]
fn bridges_appear_pods_attach_and_all_goes_with_the_definitions() {
    let scene = Scene::new("old-definitions");
    apply_all(&scene);
    for node in NODES {
        assert_eq!(vsctl(node, &["get", "Bridge", "br-old", "datapath_type"]), "netdev");
        assert_eq!(vsctl(node, &["get", "Interface", "br-old-vlan", "mtu"]), "9000");
        assert!(vpp::ports(node, "vpp-4").is_some() && vpp::ports(node, "vpp-12").is_some());
    }
    start(&scene, &sleeping_pod(&scene, "old", &NAMES.join(",")));
    let described = |interface| description(&scene, "old", interface);
    assert_eq!((&described("net1")["network"], &described("net1")["role"]), (&json!("ovs-br-old"), &json!("server")));
    assert_eq!(described("net1")["ips"][0]["address"], "10.56.217.131/24");
    assert_eq!(described("net2")["mtu"], 9000);
    assert_eq!((&described("net3")["type"], &described("net3")["role"]), (&json!("memif"), &json!("client")));
    assert_eq!(described("net3")["ips"][0]["address"], "10.56.218.2/24");
    assert_eq!((&described("net4")["queues"], &described("net4")["ringSize"]), (&json!(2), &json!(2048)));
    assert_eq!((&described("net5")["type"], &described("net5")["role"]), (&json!("vhost-user"), &json!("client")));
    let tags = vsctl(NODE, &["--bare", "--columns=tag", "find", "Port", "tag=100"]);
    assert_eq!(tags, "100");
    for network in ["vpp-4", "vpp-12", "vpp-5"] {
        vpp::await_ports(NODE, network, 1);
    }
    let opened = on_node(NODE, &["sh", "-c", "ls -d /var/log/old-* /var/run/old 2>/dev/null; true"]);
    assert_eq!(opened, "");
    scene.delete_pod("old");
    delete_all(&scene);
    assert!(!vsctl(NODE, &["list-br"]).contains("br-old"));
}

#[test]
fn invalid_definitions_are_reported_and_their_pods_are_refused() {
    let scene = Scene::new("told-definitions");
    let definition = |name: &str, config: Value| {
        apply(&json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": name, "namespace": scene.name}, "spec": {"config": config.to_string()},
        }));
    };
    let old = |bridge: Value| {
        let host = json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "vhost": {"mode": "client"}, "bridge": bridge});
        json!({"cniVersion": "1.0.0", "type": "userspace", "name": "x", "host": host})
    };
    definition("first", old(json!({"bridgeName": "br-told"})));
    wait_ready("ovs-br-told");
    definition("second", old(json!({"bridgeName": "br-told", "vlanId": 7})));
    definition("nowhere", json!({"cniVersion": "1.0.0", "type": "userspace", "name": "x", "network": "nowhere"}));
    definition("wrong", old(json!({"bridgeName": "../x"})));
    for (name, reason, words) in [
        ("second", "DefinitionsDisagree", "host.bridge.vlanId"),
        ("first", "DefinitionsDisagree", "told-definitions/second disagrees"),
        ("nowhere", "UnknownNetwork", "create UserspaceNetwork nowhere"),
        ("wrong", "InvalidConfiguration", "host.bridge.bridgeName"),
    ] {
        eventually(&format!("an event at {name}"), || {
            let reported = events(&scene, name, reason);
            check(reported.contains(words), reported)
        });
    }
    apply(&sleeping_pod(&scene, "refused", "second"));
    scene.await_refusal("refused", &["host.bridge.vlanId", "VLAN 7", "ovs-br-told"]);
    scene.delete_pod("refused");

    kubectl(&["patch", "usn", "ovs-br-told", "--type=merge", "-p", r#"{"spec":{"bridge":{"mtu":9000}}}"#]);
    eventually("what the definitions say is put back", || {
        let mtu = get(&["usn", "ovs-br-told"]).ok_or("gone")?["spec"]["bridge"]["mtu"].clone();
        check(mtu == 1500, mtu.to_string())
    });
    kubectl(&["delete", "net-attach-def", "--all", "-n", &scene.name]);
    eventually("the network goes", || check(get(&["usn", "ovs-br-told"]).is_none(), "still there"));
}
