//! IPAM plugins that fail, and those that a network configuration may name.

use crate::support::ipam::{PLUGINS, install};
use crate::support::output::Output;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, configuration, on_a_node};
use nix::mount::{MntFlags, umount2};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// A plugin that works as long as this file exists.
const WORKS: &str = "/run/plugins/works";

/// Installs a plugin that assigns an address as long as [`WORKS`] exists, and creates that file.
fn install_addresses(node: &TestNode) {
    let result = "{\"cniVersion\": \"1.1.0\", \"ips\": [{\"address\": \"10.0.0.7/24\"}]}";
    install("addresses", &format!("test -e {WORKS} || exit 3; echo '{result}'"));
    node.allow_ipam(&["addresses"], &[]);
    fs::write(WORKS, "").unwrap();
}

fn with_ipam(plugin: &str) -> Value {
    let mut configuration = configuration(NETWORK);
    configuration["ipam"] = json!({"type": plugin});
    configuration
}

fn call(node: &TestNode, verb: &'static str, pod: &Pod, configuration: &Value) -> Output {
    node.call_in(verb, pod, "net1", configuration, &[("CNI_PATH", PLUGINS)])
}

#[test]
fn this_plugin_is_no_ipam_plugin_under_any_name() {
    on_a_node(|node| {
        fs::create_dir_all(PLUGINS).unwrap();
        node.allow_ipam(&["userspace", "addresses"], &[]);
        let pod = node.pod("p");
        for name in ["userspace", "addresses"] {
            symlink(env!("CARGO_BIN_EXE_userspace"), format!("{PLUGINS}/{name}")).unwrap();
            let configuration = with_ipam(name);
            let message = call(node, "ADD", &pod, &configuration).message(7);
            assert!(message.contains(name) && message.contains("host-local"), "{message}");
            call(node, "DEL", &pod, &configuration).assert_done();
            node.assert_clean();
            // In the spec of a network it is rejected as well, if the CRD has not rejected it.
            node.program_network("green", Some(json!({"type": name})));
            let mut green = configuration.clone();
            green["network"] = json!("green");
            call(node, "ADD", &pod, &green).message(7);
            call(node, "DEL", &pod, &green).assert_done();
            node.assert_clean();
        }
    });
}

#[test]
fn a_plugin_that_assigned_nothing_and_always_fails_does_not_block_the_deletion() {
    on_a_node(|node| {
        install("broken", "echo '{\"code\": 7, \"msg\": \"no delegates\"}'; exit 1");
        node.allow_ipam(&["broken"], &[]);
        let (pod, configuration) = (node.pod("p"), with_ipam("broken"));
        let failed = call(node, "ADD", &pod, &configuration);
        assert_eq!(failed.message(7), "usnet[7 IpamFailed]: IPAM plugin broken: no delegates");
        node.assert_clean();
        call(node, "DEL", &pod, &configuration).assert_done();
    });
}

#[test]
fn once_the_sandbox_has_ended_a_failing_ipam_plugin_does_not_block_the_deletion() {
    on_a_node(|node| {
        install_addresses(node);
        let (pod, configuration) = (node.pod("p"), with_ipam("addresses"));
        call(node, "ADD", &pod, &configuration).result();
        fs::remove_file(WORKS).unwrap();
        // The address is held, and another pod must not get it.
        call(node, "DEL", &pod, &configuration).message(105);
        assert_eq!(node.records().len(), 1);
        umount2(node.network_namespace(), MntFlags::MNT_DETACH).unwrap();
        fs::remove_file(node.network_namespace()).unwrap();
        let output = call(node, "DEL", &pod, &configuration);
        output.assert_done();
        assert!(output.stderr().contains("IPAM plugin addresses failed"), "{output:?}");
        node.assert_clean();
    });
}

/// A claim is unprepared after its pod's sandbox, and kubelet repeats that as long as it fails.
#[test]
fn a_failing_ipam_plugin_does_not_keep_the_pod_of_a_resource_claim() {
    on_a_node(|node| {
        install_addresses(node);
        let (claim, configuration) = (Pod { container: "claim-c1".into(), ..node.pod("p") }, with_ipam("addresses"));
        call(node, "ADD", &claim, &configuration).result();
        fs::remove_file(WORKS).unwrap();
        let output = call(node, "DEL", &claim, &configuration);
        output.assert_done();
        assert!(output.stderr().contains("IPAM plugin addresses failed"), "{output:?}");
        node.assert_clean();
    });
}

#[test]
fn a_configuration_names_neither_files_of_the_node_nor_any_plugin_that_it_likes() {
    on_a_node(|node| {
        install("host-local", "echo called >> /run/plugins/calls; exit 1");
        install("multus", "echo called >> /run/plugins/calls; exit 1");
        let pod = node.pod("p");
        let addresses = json!([[{"subnet": "10.57.0.0/24"}]]);
        for (ipam, part) in [
            (json!({"type": "host-local", "ranges": addresses, "dataDir": "/etc"}), "ipam.dataDir"),
            (json!({"type": "host-local", "ranges": addresses, "DATADIR": "/etc"}), "ipam.DATADIR"),
            (json!({"type": "host-local", "ranges": addresses, "resolvConf": "/etc/shadow"}), "ipam.resolvConf"),
            (json!({"type": "multus"}), "\"multus\""),
        ] {
            let mut configuration = configuration(NETWORK);
            configuration["ipam"] = ipam;
            let message = call(node, "ADD", &pod, &configuration).message(7);
            assert!(message.contains(part) && message.contains("spec.ipam"), "{message}");
            // Without a record DEL releases by the configuration, which is not trusted, either.
            call(node, "DEL", &pod, &configuration).assert_done();
            configuration["cni.dev/valid-attachments"] = json!([]);
            call(node, "GC", &pod, &configuration).message(7);
            node.assert_clean();
        }
        assert!(!fs::exists("/run/plugins/calls").unwrap());
    });
}

/// The configuration with which an IPAM plugin was called, which it wrote to a file.
fn called(node: &TestNode, configuration: &Value) -> Value {
    let pod = node.pod("p");
    call(node, "ADD", &pod, configuration).result();
    let added = fs::read("/run/plugins/input").unwrap();
    call(node, "DEL", &pod, configuration).assert_done();
    let called: Value = serde_json::from_slice(&added).unwrap();
    let deleted: Value = serde_json::from_slice(&fs::read("/run/plugins/input").unwrap()).unwrap();
    assert_eq!(called["ipam"], deleted["ipam"], "DEL releases from the pool of ADD");
    called
}

/// The name under which an IPAM plugin is called.
fn pool(node: &TestNode, configuration: &Value) -> String {
    called(node, configuration)["name"].as_str().unwrap().to_owned()
}

/// A legacy configuration for the bridge of network blue.
fn legacy(node: &TestNode, name: &str, ipam: &Value) -> Value {
    json!({
        "cniVersion": "0.3.1", "name": name, "type": "userspace", "ipam": ipam,
        "host": {"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge", "vhost": {"mode": "client"}, "bridge": {"bridgeName": node.bridge()}},
        "container": {"engine": "vpp", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
    })
}

#[test]
fn a_configuration_with_whereabouts_cannot_use_the_pool_of_another_network() {
    on_a_node(|node| {
        let answer = r#"{"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.7/24"}]}"#;
        install("whereabouts", &format!("cat > /run/plugins/input; echo '{answer}'"));
        let range = |rest: Value| {
            let mut ipam = json!({"type": "whereabouts", "range": "10.0.0.0/24"});
            ipam.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            ipam
        };
        let corp = range(json!({"network_name": "shared"}));
        node.program_network("corp", Some(corp.clone()));
        let mut own = with_ipam("whereabouts");
        for (name, ipam, expected) in [
            ("mine", range(json!({})), "blue.mine"),
            ("corp", range(json!({})), "blue.corp"),
            ("mine", range(json!({"network_name": "shared"})), "blue.shared"),
            ("mine", range(json!({"NETWORK_NAME": "shared"})), "blue.shared"),
            ("mine", range(json!({"network_name": ""})), "blue.mine"),
        ] {
            (own["name"], own["ipam"]) = (json!(name), ipam.clone());
            let used = called(node, &own)["ipam"].clone();
            assert_eq!(used, range(json!({"network_name": expected})), "{ipam}");
            // Neither can a configuration of Userspace CNI, whose other pools have their plain
            // names.
            let used = called(node, &legacy(node, name, &ipam))["ipam"].clone();
            assert_eq!(used["network_name"], expected, "{ipam}");
        }
        // The pool that the administrator names is used as it is written.
        own["network"] = json!("corp");
        assert_eq!(called(node, &own)["ipam"], corp);
    });
}

#[test]
fn an_attachment_of_a_release_that_named_no_pools_is_released_as_it_was_made() {
    on_a_node(|node| {
        let answer = r#"{"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.7/24"}]}"#;
        install("whereabouts", &format!("cat > /run/plugins/input; echo '{answer}'"));
        let (pod, mut own) = (node.pod("p"), with_ipam("whereabouts"));
        own["ipam"] = json!({"type": "whereabouts", "range": "10.0.0.0/24"});
        call(node, "ADD", &pod, &own).result();
        let path = node.records().remove(0);
        let text = fs::read_to_string(&path).unwrap();
        let pool = r#""network_name":"blue.blue","#;
        assert_eq!(text.matches(pool).count(), 2, "one for each state: {text}");
        fs::write(&path, text.replace(pool, "")).unwrap();
        call(node, "ADD", &pod, &own).result();
        call(node, "DEL", &pod, &own).assert_done();
        let deleted: Value = serde_json::from_slice(&fs::read("/run/plugins/input").unwrap()).unwrap();
        assert_eq!(deleted["ipam"], own["ipam"]);
    });
}

#[test]
fn a_configuration_cannot_use_up_the_addresses_of_another_network() {
    on_a_node(|node| {
        let answer = r#"{"cniVersion": "1.1.0", "ips": [{"address": "10.0.0.7/24"}]}"#;
        install("static", &format!("cat > /run/plugins/input; echo '{answer}'"));
        node.program_network("green", Some(json!({"type": "static"})));
        let mut own = with_ipam("static");
        own["name"] = json!("green");
        assert_eq!(pool(node, &own), "blue.green");
        own["network"] = json!("green");
        assert_eq!(pool(node, &own), "green", "the network's own");

        // Intel's plugin used the plain name, and pods that it attached hold addresses there.
        let mut legacy = legacy(node, "old", &json!({"type": "static"}));
        assert_eq!(pool(node, &legacy), "old");
        for name in ["green", "green.own"] {
            legacy["name"] = json!(name);
            assert_eq!(pool(node, &legacy), format!("blue.{name}"));
        }
        // Whether a network that is not programmed now has addresses is not known.
        node.publish_unavailable("green", "EngineUnreachable", "down");
        legacy["name"] = json!("green");
        assert_eq!(pool(node, &legacy), "blue.green");
    });
}
