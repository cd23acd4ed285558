//! An ADD that must fail, with a reason and a remedy in the message, and roll back; a DEL that must
//! not fail.

use crate::support::engine::on_each_engine;
use crate::support::wait::await_that;
use crate::support::{NETWORK, TestNode, configuration, on_a_node, on_a_node_with, port_types};
use crate::vpp::lengths::lengthen;
use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;
use usnet_crds::{Phase, Port};
use usnet_dataplane::network_file::NetworkFile;
use usnet_dataplane::port::SOCKET_PATH_MAX;
use usnet_dataplane::unselected::Unselected;
use usnet_test_openvswitch::OpenVswitch;

/// A timeout for the processes of a busy machine.
const AMPLE: Duration = Duration::from_secs(10);

on_each_engine! {
    a_pod_of_another_namespace_is_rejected,
    a_missing_volume_is_reported_with_advice,
    a_network_names_the_volume,
    a_draining_network_fails_add_but_not_del,
    the_agents_reason_is_passed_on_and_add_waits_for_the_network,
    without_its_engine_add_fails_soon_and_leaves_nothing,
    without_its_engine_del_succeeds_and_leaves_the_port_to_the_agent,
    del_succeeds_when_pod_network_bridge_and_everything_is_gone,
    a_missing_ipam_plugin_is_named_before_any_change,
    a_missing_or_foreign_bridge_gets_no_port,
}

fn a_pod_of_another_namespace_is_rejected(node: &mut TestNode) {
    let mut pod = node.pod("p");
    pod.namespace = "web".to_owned();
    let message = node.add(&pod, "net1").message(100);
    assert!(message.starts_with("usnet[100 NamespaceNotAllowed]: pod web/p may not attach"), "{message}");
    for part in [NETWORK, "namespaceSelector"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let mut network = node.program_network(NETWORK, None);
    network.namespaces.selector = "team=a".to_owned();
    node.publish(network);
    let message = node.add(&pod, "net1").message(100);
    assert!(message.contains("namespaceSelector (team=a). Label the namespace"), "{message}");
    node.assert_clean();
}

#[test]
fn a_socket_path_that_a_program_would_truncate_is_rejected_on_open_vswitch() {
    on_a_node(|node| {
        for bytes in [SOCKET_PATH_MAX, SOCKET_PATH_MAX + 1] {
            lengthen(node, bytes);
            node.program_network(NETWORK, None);
            let pod = node.pod("p");
            let output = node.add(&pod, "net1");
            if bytes == SOCKET_PATH_MAX {
                output.result();
                node.del(&pod, "net1").assert_done();
            } else {
                let message = output.message(5);
                assert!(message.contains("at most 107") && message.contains("run directory"), "{message}");
            }
            node.assert_clean();
        }
    });
}

#[test]
fn a_network_that_is_not_on_the_node_is_reported_with_the_agents_reason() {
    on_a_node(|node| {
        let pod = node.pod("p");
        let reason =
            "its nodeSelector does not select this node: \"rack=a\" is required, and the node has no label rack";
        let unselected = [("red".parse().unwrap(), reason.to_owned())];
        Unselected::new(unselected.into_iter()).write(&node.paths).unwrap();
        let add = |network: &str| node.call("ADD", &pod, "net1", &configuration(network)).message(11);
        assert_eq!(add("red"), format!("usnet[11 NodeNotSelected]: network \"red\" is not on this node: {reason}"));
        let unknown = add("green");
        assert!(
            unknown.starts_with("usnet[11 NetworkUnknown]: network \"green\" is not known on this node"),
            "{unknown}"
        );
        node.assert_clean();
    });
}

fn a_missing_volume_is_reported_with_advice(node: &mut TestNode) {
    let pod = node.pod("p");
    fs::remove_dir(&pod.volume).unwrap();
    let message = node.add(&pod, "net1").message(102);
    assert!(message.starts_with("usnet[102 NoVolume]: pod db/p"), "{message}");
    assert!(message.contains("volumes: [{name: usnet, emptyDir: {}}]") && message.contains("db/p"), "{message}");
    node.assert_clean();
    // A link in place of the volume is not followed.
    symlink("/etc", &pod.volume).unwrap();
    node.add(&pod, "net1").message(102);
    node.assert_clean();
}

fn a_network_names_the_volume(node: &mut TestNode) {
    let port = Port { volume: Some("hooks".parse().unwrap()), ..port_types::vhost_user() };
    node.program_network_with(NETWORK, &port, None);
    let pod = node.pod("p");
    let message = node.add(&pod, "net1").message(102);
    assert!(message.contains("no emptyDir volume \"hooks\"") && message.contains("[{name: hooks, "), "{message}");
    node.assert_clean();
    let hooks = pod.volume.with_file_name("hooks");
    fs::create_dir(&hooks).unwrap();
    for interface in ["net1", "net2"] {
        node.add(&pod, interface).result();
        assert!(hooks.join(format!("{interface}.json")).exists());
    }
    assert_eq!(fs::read_dir(&pod.volume).unwrap().count(), 0, "the usual volume is not used");
    // A running pod keeps its volume when the network names another.
    node.program_network_with(NETWORK, &port_types::vhost_user(), None);
    node.del(&pod, "net1").assert_done();
    assert!(hooks.join("net2.json").exists() && !hooks.join("net1.json").exists());
    node.del(&pod, "net2").assert_done();
    assert_eq!(fs::read_dir(&hooks).unwrap().count(), 0);
    node.assert_clean();
}

fn a_draining_network_fails_add_but_not_del(node: &mut TestNode) {
    let (one, other) = (node.pod("one"), node.pod("other"));
    let mut network = node.program_network(NETWORK, None);
    node.add(&one, "net1").result();
    network.phase = Phase::Draining;
    node.publish(network);
    assert!(node.add(&other, "net1").message(101).contains("being deleted"));
    node.publish_file(&NetworkFile::Draining { name: NETWORK.parse().unwrap() });
    node.add(&other, "net1").message(101);
    assert_eq!((node.ports(NETWORK).len(), node.mounts().len()), (1, 1));
    node.del(&one, "net1").assert_done();
    node.assert_clean();
}

fn the_agents_reason_is_passed_on_and_add_waits_for_the_network(node: &mut TestNode) {
    let pod = node.pod("p");
    node.publish_unavailable(NETWORK, "EngineUnreachable", "Open vSwitch is not there");
    let output = node.add(&pod, "net1");
    let reported = output.message(11);
    assert!(reported.contains("EngineUnreachable") && reported.contains("Open vSwitch is not there"), "{reported}");
    output.assert_in_time();
    node.assert_clean();

    std::thread::scope(|scope| {
        let waiting = std::thread::Builder::new();
        // The thread starts in the mount namespace of this one.
        let waiting = waiting.spawn_scoped(scope, || node.add(&pod, "net1")).unwrap();
        node.program_network(NETWORK, None);
        waiting.join().unwrap().result();
    });
}

fn without_its_engine_add_fails_soon_and_leaves_nothing(node: &mut TestNode) {
    let pod = node.pod("p");
    node.engine.kill();
    let output = node.add(&pod, "net1");
    assert!(output.message(11).contains(&node.engine.kind().to_string()), "{output:?}");
    output.assert_in_time();
    node.assert_no_files();
    node.engine.start_again();
    node.assert_clean();
}

#[test]
fn with_a_dead_vswitchd_add_fails_soon() {
    on_a_node(|node| {
        let pod = node.pod("p");
        node.open_vswitch().kill_vswitchd().unwrap();
        let output = node.add(&pod, "net1");
        output.message(11);
        output.assert_in_time();
        assert_eq!((node.ports(NETWORK).len(), node.mounts().len()), (0, 0));
        node.open_vswitch().start_vswitchd().unwrap();
        node.add(&pod, "net1").result();
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    });
}

/// ovs-vswitchd applies the commit as soon as it runs.
#[test]
fn del_does_not_wait_for_the_switch_which_follows_later() {
    on_a_node(|node| {
        for port in [port_types::vhost_user(), port_types::veth()] {
            node.program_network_with(NETWORK, &port, None);
            let pod = node.pod("p");
            node.add(&pod, "net1").result();
            let [name] = node.ports(NETWORK).try_into().unwrap();
            node.open_vswitch().pause_vswitchd().unwrap();
            let output = node.del(&pod, "net1");
            output.assert_done();
            assert_eq!(output.stderr(), "", "nothing is left to the agent");
            node.assert_clean();
            node.open_vswitch().resume_vswitchd().unwrap();
            let is_used = |node: &mut TestNode| node.open_vswitch().appctl(&["dpif/show"]).unwrap().contains(&name);
            await_that("the switch has no port", AMPLE, || !is_used(node));
        }
    });
}

fn without_its_engine_del_succeeds_and_leaves_the_port_to_the_agent(node: &mut TestNode) {
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    node.engine.kill();
    let output = node.del(&pod, "net1");
    output.assert_done();
    output.assert_in_time();
    assert!(output.stderr().contains("agent"), "{output:?}");
    assert_eq!(node.mounts(), []);
    let record = fs::read_to_string(&node.leftovers()[0]).unwrap();
    assert!(record.contains("\"detached\""), "{record}");
    node.engine.start_again();
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

fn del_succeeds_when_pod_network_bridge_and_everything_is_gone(node: &mut TestNode) {
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    fs::remove_dir_all(node.paths.kubelet.join("pods")).unwrap();
    fs::remove_dir_all(node.paths.networks()).unwrap();
    node.engine.remove_bridge(&node.bridge());
    node.del(&pod, "net1").assert_done();
    node.assert_no_files();
    node.engine.assert_no_leftovers();
    node.del(&pod, "net1").assert_done();
}

fn a_missing_ipam_plugin_is_named_before_any_change(node: &mut TestNode) {
    let mut configuration = configuration(NETWORK);
    configuration["ipam"] = serde_json::json!({"type": "not-installed"});
    node.allow_ipam(&["not-installed"], &[]);
    let message = node.call("ADD", &node.pod("p"), "net1", &configuration).message(105);
    assert!(message.contains("not-installed"), "{message}");
    node.assert_clean();
}

fn a_missing_or_foreign_bridge_gets_no_port(node: &mut TestNode) {
    let (pod, bridge) = (node.pod("p"), node.bridge());
    node.engine.remove_bridge(&bridge);
    assert!(node.add(&pod, "net1").message(11).contains(&bridge));
    node.assert_no_files();
    node.engine.add_foreign_bridge(&bridge);
    assert!(node.add(&pod, "net1").message(11).contains(&bridge));
    node.assert_clean();
}

#[test]
fn a_port_that_open_vswitch_cannot_create_is_removed_and_the_reason_reported() {
    on_a_node_with(OpenVswitch::builder(), |node| {
        let message = node.add(&node.pod("p"), "net1").message(104);
        assert!(message.contains("without DPDK") && message.contains("dpdk-init=true"), "{message}");
        node.assert_clean();
    });
}
