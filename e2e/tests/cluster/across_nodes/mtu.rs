//! Networks whose frames are one byte too large for the NICs of the nodes.

use super::uplink::{OVS, VPP};
use super::{overlay, uplink};
use crate::support::cluster::{check, condition, eventually, get, kubectl, nodes, timeout};
use crate::support::kubectl_usnet::ask;
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};

/// Waits until the network is reported on all nodes, each with its NIC.
fn await_too_large(network: &str, nic: &str) {
    eventually(&format!("{network} is too large on all nodes"), || {
        let status = get(&["usn", network]).ok_or("gone")?;
        let failures = status["status"]["failures"].as_array().cloned().unwrap_or_default();
        let is_it = |failure: &Value| {
            let message = failure["message"].as_str().unwrap_or_default();
            failure["reason"] == "MtuTooLarge" && [nic, "1500", "bridge.mtu"].iter().all(|part| message.contains(part))
        };
        let is_stalled = condition(&status, "Stalled").is_some_and(|stalled| stalled["status"] == "True");
        check(failures.len() == nodes().len() && failures.iter().all(is_it) && is_stalled, status.to_string())
    });
}

/// The network is one problem, which no node has.
fn assert_one_problem_of_no_node(network: &str) {
    for node in nodes() {
        let state = get(&["usns", node]).unwrap();
        let status = |kind| condition(&state, kind).map(|condition| condition["status"].clone());
        assert_eq!(
            (status("Ready"), status("NetworksProgrammed")),
            (Some("True".into()), Some("False".into())),
            "{state}"
        );
    }
    let (_, report) = ask(&["status"]);
    let subject = format!("network {network}");
    let problems = report["needsAction"].as_array().unwrap();
    let problem = problems.iter().filter(|problem| problem["subject"] == subject.as_str()).collect::<Vec<_>>();
    let [problem] = problem.as_slice() else { panic!("{report}") };
    assert_eq!((&problem["reason"], &problem["nodes"]), (&"MtuTooLarge".into(), &json!(nodes())), "{report}");
}

/// With one byte less, the network is ready.
fn one_byte(scene: &Scene, name: &str, engine: &str, (topology, nic, mtu): (Value, &str, usize)) {
    let spec = |mtu: usize| {
        let port = json!({"type": "Veth"});
        json!({"engine": engine, "port": port, "topology": topology, "bridge": {"mtu": mtu}})
    };
    scene.apply_network(name, &spec(mtu + 1));
    await_too_large(name, nic);
    assert_one_problem_of_no_node(name);
    scene.apply_network(name, &spec(mtu));
    wait_ready(name);
    kubectl(&["delete", "usn", name, timeout()]);
}

#[test]
fn a_network_that_is_one_byte_too_large_is_reported_on_each_node() {
    let scene = Scene::new("across-mtu");
    for (name, variant) in [("mtu-ovs", overlay::OVS), ("mtu-vpp", overlay::VPP)] {
        one_byte(&scene, name, variant.engines[0], ((variant.topology)(1), "eth0", variant.mtu));
    }
    for (name, uplinks) in [("mtu-uplink", OVS), ("mtu-vuplink", VPP)] {
        let variant = uplinks.vlan;
        let fab = uplink::uplink("fab", variant.engines[0], &json!(["100-199"]));
        one_byte(&scene, name, variant.engines[0], ((variant.topology)(1), "eth1", variant.mtu));
        uplink::delete(fab, "fab");
    }
}
