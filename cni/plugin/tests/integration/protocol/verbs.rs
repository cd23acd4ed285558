//! CHECK, GC and STATUS on real engines, with the real host-local.

use crate::support::engine::on_each_engine;
use crate::support::ipam::{host_local, reserved_ips};
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, configuration, on_a_node, record_in, with_result};
use serde_json::{Value, json};
use std::fs;
use usnet_crds::{Mtu, Phase};
use usnet_dataplane::attachment::Record;
use usnet_dataplane::call_log::{self, Verb};

on_each_engine! {
    check_succeeds_until_something_differs_and_names_it,
    check_compares_with_the_current_spec_of_the_network,
    without_its_engine_check_and_status_fail_soon,
    gc_detaches_what_the_runtime_does_not_list_and_nothing_else,
    gc_without_a_list_detaches_only_what_is_proved_stale,
    status_reports_whether_pods_could_be_attached,
    the_call_log_has_each_add_and_del_with_its_result,
}

/// The differences that CHECK reports.
#[track_caller]
fn found(node: &TestNode, pod: &Pod, configuration: &Value) -> String {
    node.call("CHECK", pod, "net1", configuration).message(106)
}

fn record(node: &TestNode) -> Record {
    let [path] = node.records().try_into().unwrap();
    serde_json::from_value(record_in(&path)).unwrap()
}

fn check_succeeds_until_something_differs_and_names_it(node: &mut TestNode) {
    let pod = node.pod("p");
    let result = node.add(&pod, "net1").result();
    let configuration = with_result(&configuration(NETWORK), &result);
    node.call("CHECK", &pod, "net1", &configuration).assert_done();

    let mut other = configuration.clone();
    other["prevResult"]["interfaces"][0]["mac"] = json!("02:00:00:00:00:99");
    assert!(found(node, &pod, &other).contains("02:00:00:00:00:99"));
    other["prevResult"]["interfaces"] = json!([]);
    assert!(found(node, &pod, &other).contains("no interface net1"));

    let elsewhere = [("CNI_NETNS", "/run/netns/other")];
    let message = node.call_in("CHECK", &pod, "net1", &configuration, &elsewhere).message(106);
    assert!(message.contains("/run/netns/other"), "{message}");

    fs::remove_file(pod.volume.join("net1.json")).unwrap();
    assert!(found(node, &pod, &configuration).contains("description"));

    let attached = record(node);
    node.engine.set_port_mtu(&attached, Mtu::try_from(1400).unwrap());
    let message = found(node, &pod, &configuration);
    assert!(
        message.contains("is 1400 and should be 1500") && message.contains("description"),
        "all differences are reported: {message}"
    );

    node.engine.remove_port(&attached);
    assert!(found(node, &pod, &configuration).contains("the engine has no port for this attachment"));

    node.del(&pod, "net1").assert_done();
    assert!(found(node, &pod, &configuration).contains("no record"));
    node.assert_clean();
}

fn check_compares_with_the_current_spec_of_the_network(node: &mut TestNode) {
    let pod = node.pod("p");
    let configuration = with_result(&configuration(NETWORK), &node.add(&pod, "net1").result());
    let mut network = node.program_network(NETWORK, None);
    network.bridge.mtu = Mtu::try_from(1400).unwrap();
    node.publish(network);
    assert!(found(node, &pod, &configuration).contains("is 1500 and should be 1400"));
    node.engine.set_port_mtu(&record(node), Mtu::try_from(1400).unwrap());
    node.call("CHECK", &pod, "net1", &configuration).assert_done();
}

fn without_its_engine_check_and_status_fail_soon(node: &mut TestNode) {
    let pod = node.pod("p");
    let configuration = with_result(&configuration(NETWORK), &node.add(&pod, "net1").result());
    node.engine.kill();
    for (verb, code) in [("CHECK", 11), ("STATUS", 51)] {
        let output = node.call(verb, &pod, "net1", &configuration);
        let error = output.error();
        assert_eq!(error["code"], code, "{error}");
        output.assert_in_time();
    }
}

/// A configuration for GC that lists these attachments.
fn valid(attachments: &[(&Pod, &str)]) -> Value {
    let entry = |(pod, interface): &(&Pod, &str)| json!({"containerID": pod.container, "ifname": interface});
    let mut configuration = configuration(NETWORK);
    configuration["cni.dev/valid-attachments"] = attachments.iter().map(entry).collect();
    configuration
}

fn gc_detaches_what_the_runtime_does_not_list_and_nothing_else(node: &mut TestNode) {
    let (kept, stale, foreign) = (node.pod("kept"), node.pod("stale"), node.pod("foreign"));
    node.add(&kept, "net1").result();
    node.add(&stale, "net1").result();
    node.add(&stale, "net2").result();
    let mut other_name = configuration(NETWORK);
    other_name["name"] = json!("other");
    node.call("ADD", &foreign, "net1", &other_name).result();

    node.call("GC", &kept, "net1", &valid(&[(&kept, "net1"), (&stale, "net2")])).assert_done();
    assert_eq!(node.ports(NETWORK).len(), 3, "net1 of stale is gone");
    assert!(stale.volume.join("net2.json").exists() && !stale.volume.join("net1.json").exists());
    node.call("GC", &kept, "net1", &valid(&[])).assert_done();
    assert_eq!(node.ports(NETWORK).len(), 1, "what was attached under another name is kept");
    assert!(foreign.volume.join("net1.json").exists());
    node.del(&foreign, "net1").assert_done();
    node.del(&stale, "net1").assert_done();
    node.assert_clean();
}

fn gc_without_a_list_detaches_only_what_is_proved_stale(node: &mut TestNode) {
    let (alive, gone) = (node.pod("alive"), node.pod("gone"));
    node.add(&alive, "net1").result();
    node.call_with("ADD", &gone, "net1", &[("CNI_NETNS", "/run/netns/gone")]).result();
    node.call("GC", &alive, "net1", &configuration(NETWORK)).assert_done();
    assert_eq!(node.ports(NETWORK).len(), 1);
    assert!(alive.volume.join("net1.json").exists());
    node.del(&alive, "net1").assert_done();
    node.assert_clean();
}

#[test]
fn gc_releases_addresses_but_not_those_of_other_configurations() {
    on_a_node(|node| {
        let Some(ipam) = host_local() else { return };
        node.program_network(NETWORK, Some(ipam));
        let (kept, stale) = (node.pod("kept"), node.pod("stale"));
        let mut other_name = configuration(NETWORK);
        other_name["name"] = json!("other");
        let result = node.call("ADD", &kept, "net1", &other_name).result();
        node.add(&stale, "net1").result();
        assert_eq!(reserved_ips(NETWORK).len(), 2);
        node.call("GC", &kept, "net1", &valid(&[])).assert_done();
        assert_eq!(reserved_ips(NETWORK).len(), 1, "{result}");
        other_name["prevResult"] = result;
        node.call("CHECK", &kept, "net1", &other_name).assert_done();
        fs::remove_dir_all("/run/addresses/blue").unwrap();
        let lost = node.call("CHECK", &kept, "net1", &other_name).error();
        assert!(lost["msg"].as_str().unwrap().contains("host-local"), "{lost}");
    });
}

fn status_reports_whether_pods_could_be_attached(node: &mut TestNode) {
    let pod = node.pod("p");
    let status = |configuration: &Value| node.call("STATUS", &pod, "net1", configuration);
    status(&configuration(NETWORK)).assert_done();
    assert!(status(&configuration("unheard-of")).message(50).contains("unheard-of"));
    let mut with_ipam = configuration(NETWORK);
    with_ipam["ipam"] = json!({"type": "not-installed"});
    assert!(status(&with_ipam).message(50).contains("this node allows the IPAM plugins dhcp, host-local"));
    node.allow_ipam(&["not-installed"], &[]);
    assert!(status(&with_ipam).message(50).contains("not-installed"));

    let mut network = node.program_network(NETWORK, None);
    network.phase = Phase::Draining;
    node.publish(network);
    assert!(status(&configuration(NETWORK)).message(50).contains("being deleted"));
    node.publish_unavailable(NETWORK, "EngineUnreachable", "it is not there");
    assert!(status(&configuration(NETWORK)).message(50).contains("EngineUnreachable"));

    node.program_network(NETWORK, None);
    status(&configuration(NETWORK)).assert_done();
    node.engine.remove_bridge(&node.bridge());
    assert!(status(&configuration(NETWORK)).message(51).contains("does not exist"));
}

fn the_call_log_has_each_add_and_del_with_its_result(node: &mut TestNode) {
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    let rejected = node.call("ADD", &pod, "net2", &configuration("unknown")).message(11);
    node.del(&pod, "net1").assert_done();
    // This DEL finds nothing that is attached, and is not in the log.
    node.del(&pod, "net1").assert_done();
    let calls = call_log::read(&node.paths).unwrap();
    let seen: Vec<_> = calls
        .iter()
        .map(|call| (call.verb, call.interface.as_str(), call.network.as_deref(), call.error.is_none()))
        .collect();
    let expected = [
        (Verb::Add, "net1", Some(NETWORK), true),
        (Verb::Add, "net2", Some("unknown"), false),
        (Verb::Del, "net1", Some(NETWORK), true),
    ];
    assert_eq!(seen, expected);
    let name = format!("{}/p", crate::support::NAMESPACE);
    assert!(calls.iter().all(|call| call.pod == name && call.container == pod.container), "{calls:?}");
    let error = calls[1].error.as_deref().unwrap();
    assert!(error.starts_with("usnet[11 ") && rejected.starts_with(&error[..100]), "{error}");
    assert!(calls[0].milliseconds < 10_000 && calls[0].time <= calls[2].time);
}
