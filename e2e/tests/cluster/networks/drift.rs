//! Changes by other clients of the engines are reverted, and what is not owned by usnet is not
//! touched.

use crate::support::cluster::{check, eventually, get, kubectl, try_run, vsctl};
use crate::support::pods::{NODE, await_packets, in_pod, sleeping_pod, start, testpmd_pod};
use crate::support::scene::{Scene, agent_log, await_condition};
use serde_json::json;

#[test]
fn a_removed_port_and_a_removed_bridge_come_back_with_traffic() {
    let scene = Scene::new("drift");
    scene.network("drift", &json!({}));
    for pod in ["left", "right"] {
        start(&scene, &testpmd_pod(&scene, pod, "drift", "flowgen"));
        await_ports(if pod == "left" { 1 } else { 2 });
    }
    await_packets(&scene, "right", 1);

    let port = vsctl(NODE, &["list-ports", "br-drift"]).lines().next().unwrap().to_owned();
    vsctl(NODE, &["--no-wait", "del-port", &port]);
    await_repairs(1);
    vsctl(NODE, &["--no-wait", "del-br", "br-drift"]);
    for line in await_repairs(2) {
        println!("{line}");
    }
    await_ports(2);
    let before = await_packets(&scene, "right", 1);
    eventually("packets flow again", || {
        let now = await_packets(&scene, "right", 1);
        check(now > before, format!("{before:?} {now:?}"))
    });
}

/// What the agent says of its repairs: from the event that told it of the loss to the moment when
/// it had seen the repair.
fn await_repairs(count: usize) -> Vec<String> {
    eventually("the agent's own account", || {
        let log = agent_log(NODE);
        // What is lost while another problem of the network is retried is created by the retry.
        let is_repair = |line: &str| line.contains("repaired") || line.contains("cause=retry");
        let of_this = |line: &&str| is_repair(line) && line.contains("br-drift");
        let repairs: Vec<String> = log.lines().filter(of_this).map(ToOwned::to_owned).collect();
        check(repairs.len() >= count, log)?;
        Ok(repairs)
    })
}

fn await_ports(count: usize) {
    eventually("the ports of both pods", || {
        let ports = try_run("on-node", &[NODE, "ovs-vsctl", "list-ports", "br-drift"], "")?;
        check(ports.lines().count() == count, ports)
    });
}

#[test]
fn a_changed_field_of_a_port_is_restored() {
    let scene = Scene::new("field");
    scene.network("field", &json!({"port": {"vlan": {"mode": "Access", "tag": 7}}}));
    start(&scene, &sleeping_pod(&scene, "member", "field"));
    let port = vsctl(NODE, &["list-ports", "br-field"]);
    vsctl(NODE, &["set", "Port", &port, "tag=8"]);
    eventually("the tag is back", || {
        let tag = vsctl(NODE, &["get", "Port", &port, "tag"]);
        check(tag == "7", tag)
    });
}

/// The bridge forwards again, whatever decides over it in the database and in OpenFlow.
#[test]
fn a_bridge_that_others_stopped_from_forwarding_forwards_again() {
    let scene = Scene::new("stopped");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.85.0.0/24"}]]});
    scene.network("stopped", &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    for pod in ["left", "right"] {
        start(&scene, &sleeping_pod(&scene, pod, "stopped"));
    }
    let right = in_pod(&scene, "right", r"ip -4 -o addr show net1 | sed 's/.*inet \([0-9.]*\).*/\1/'");
    let right = right.trim();
    let ping =
        || try_run("kubectl", &["exec", "-n", &scene.name, "left", "--", "ping", "-c", "1", "-w", "2", right], "");
    eventually("packets at first", ping);
    let port = vsctl(NODE, &["list-ports", "br-stopped"]).lines().next().unwrap().to_owned();
    for change in [
        &["ovs-vsctl", "--no-wait", "set-fail-mode", "br-stopped", "secure"][..],
        &["ovs-vsctl", "--no-wait", "set-controller", "br-stopped", "tcp:127.0.0.1:9"],
        &["ovs-vsctl", "--no-wait", "set", "Bridge", "br-stopped", "stp_enable=true"],
        &["ovs-ofctl", "del-flows", "br-stopped"],
        &["ovs-ofctl", "mod-port", "br-stopped", &port, "no-forward"],
    ] {
        try_run("on-node", &[&[NODE], change].concat(), "").unwrap();
        eventually(&format!("packets after {change:?}"), ping);
    }
    let log = agent_log(NODE);
    assert!(log.lines().any(|line| line.contains("repaired") && line.contains("br-stopped")), "{log}");
}

#[test]
fn a_foreign_port_in_our_bridge_stays() {
    let scene = Scene::new("guest");
    scene.network("guest", &json!({}));
    vsctl(NODE, &["add-port", "br-guest", "guest0", "--", "set", "Interface", "guest0", "type=internal"]);
    // Something to repair, so that the agent has certainly looked at the bridge since.
    vsctl(NODE, &["set", "Interface", "br-guest", "mtu_request=900"]);
    eventually("the MTU is back", || {
        let mtu = vsctl(NODE, &["get", "Interface", "br-guest", "mtu_request"]);
        check(mtu == "1500", mtu)
    });
    assert_eq!(vsctl(NODE, &["list-ports", "br-guest"]), "guest0");

    kubectl(&["delete", "usn", "guest", "--wait=false"]);
    let message = await_condition("guest", "DeletionBlocked", "True", "ForeignPorts");
    assert!(message.contains("guest0") && message.contains(NODE), "{message}");
    vsctl(NODE, &["del-port", "guest0"]);
    eventually("the network goes", || check(get(&["usn", "guest"]).is_none(), "still there"));
}

#[test]
fn a_foreign_bridge_of_that_name_is_reported_and_left_alone() {
    let scene = Scene::new("foreign");
    vsctl(
        NODE,
        &["add-br", "br-foreign", "--", "set", "Bridge", "br-foreign", "datapath_type=netdev", "other_config:mine=1"],
    );
    let before = vsctl(NODE, &["list", "Bridge", "br-foreign"]);
    scene.apply_network("foreign", &json!({}));
    await_condition("foreign", "Programmed", "False", "BridgeExists");
    let failures = get(&["usn", "foreign"]).unwrap()["status"]["failures"].clone();
    assert_eq!(failures[0]["node"], NODE, "{failures}");
    assert_eq!(failures[0]["reason"], "BridgeExists", "{failures}");
    assert_eq!(failures.as_array().unwrap().len(), 1, "the other node has no such bridge: {failures}");
    assert_eq!(vsctl(NODE, &["list", "Bridge", "br-foreign"]), before);

    vsctl(NODE, &["del-br", "br-foreign"]);
    crate::support::scene::wait_ready("foreign");
}
