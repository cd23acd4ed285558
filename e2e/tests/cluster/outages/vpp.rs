//! VPP that is killed, changed by another client, or used by a killed agent, partly while pods
//! send.

use crate::outages::components::replace_agent;
use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, run};
use crate::support::pods::{NODE, await_packets, dpdk_pod, received, remains, sleeping_pod, start, uid, wait_running};
use crate::support::scene::{ENGINE_GONE, Scene, agent_log, await_condition, wait_ready};
use crate::support::testpmd::{Driver, Program, flowing_counters};
use crate::support::vpp;
use crate::support::vpp::requests::Requests;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread;

/// Two pods that send to each other, on a network of their own.
fn sending_pods(name: &str, port: &Value, program: Program<'_>) -> Scene {
    let scene = Scene::new(name);
    scene.network(name, &json!({"engine": "VPP", "port": port}));
    for pod in ["left", "right"] {
        start(&scene, &dpdk_pod(&scene, pod, name, program));
    }
    vpp::await_ports(NODE, name, 2);
    if vpp::is_real() {
        for pod in ["left", "right"] {
            await_packets(&scene, pod, 1);
        }
    }
    scene
}

/// Whose ports they are.
fn marks(ports: &[vpp::Port]) -> BTreeSet<String> {
    ports.iter().map(|port| port.tag.clone()).collect()
}

/// Kills VPP, starts it again, and waits until both ports are back and both pods receive.
fn back_after_kill(name: &str, port: &Value, driver: Driver) {
    let scene = sending_pods(name, port, Program { driver, mode: "flowgen", reconnects: true });
    let before = marks(&vpp::await_ports(NODE, name, 2));

    run("component", &["stop", "vpp", NODE]);
    await_condition(name, "Ready", "False", ENGINE_GONE);
    let starter = thread::spawn(|| run("component", &["start", "vpp", NODE]));
    let there = vpp::await_socket(NODE);
    let ports_back = vpp::poll_each_millisecond(
        "the ports",
        || matches!(vpp::try_ports(NODE, name), Ok(Some(ports)) if ports.len() == 2),
    );
    let ports = vpp::await_ports(NODE, name, 2);
    println!("{name}: {:?} from VPP's socket to both ports", ports_back - there);
    assert_eq!(marks(&ports), before, "the same attachments have ports again");

    if vpp::moves_packets(&format!("packets over {name} after VPP was killed")) {
        let flowing =
            |ports: &[vpp::Port]| matches!(vpp::sent(NODE, ports), Ok(counts) if counts.iter().all(|count| *count > 0));
        let flowing = vpp::poll_each_millisecond("packets to both pods", || flowing(&ports));
        println!("{name}: {:?} from VPP's socket to packets in both directions", flowing - there);
        let first = ["left", "right"].map(|pod| received(&scene, pod));
        eventually("both pods count on", || {
            let now = ["left", "right"].map(|pod| received(&scene, pod));
            check(now[0] > first[0] && now[1] > first[1], format!("{first:?} {now:?}"))
        });
    }
    starter.join().unwrap();
    wait_ready(name);
}

#[test]
fn killed_vpp_has_its_memifs_back_and_packets_flow() {
    back_after_kill("kill-memif", &json!({"type": "Memif"}), Driver::Memif);
}

#[test]
fn killed_vpp_has_its_vhost_user_ports_back_and_packets_flow() {
    back_after_kill("kill-vhost", &json!({"type": "VhostUser"}), Driver::VhostServer);
}

#[test]
fn restarted_agent_asks_vpp_for_no_change_and_traffic_goes_on() {
    let scene = sending_pods("reread", &json!({"type": "Memif"}), Program::new(Driver::Memif, "flowgen"));
    let requests = Requests::watch(NODE);
    replace_agent(NODE);
    eventually("the agent has looked at everything", || {
        let log = agent_log(NODE);
        check(log.contains("programmed=1"), log)
    });
    let asked = eventually("the agent has read VPP", || {
        let (all, changing) = requests.all_and_changing();
        check(all.iter().any(|request| request.contains("bridge_domain_dump")), format!("{all:?}"))?;
        Ok((all, changing))
    });
    assert_eq!(asked.1, Vec::<String>::new(), "what changes VPP, of {:?}", asked.0);
    println!("a restarted agent asked VPP {} things, none of them a change", asked.0.len());

    if vpp::moves_packets("packets while the agent restarts") {
        let first = await_packets(&scene, "right", 1);
        eventually("more packets", || {
            let now = await_packets(&scene, "right", 1);
            check(now > first, format!("{now:?}"))
        });
        let flowing = flowing_counters(&kubectl(&["logs", "right", "-n", &scene.name]));
        println!("the receiver counted on each second: {flowing:?}");
    }
}

#[test]
fn an_outage_of_vpp_is_reported_and_ends_by_itself() {
    let scene = Scene::new("vppgone");
    scene.network("vppgone", &json!({"engine": "VPP"}));
    start(&scene, &sleeping_pod(&scene, "goes", "vppgone"));
    start(&scene, &sleeping_pod(&scene, "stays", "vppgone"));
    let before = marks(&vpp::await_ports(NODE, "vppgone", 2));

    run("component", &["stop", "vpp", NODE]);
    eventually("the node says so", || {
        let state = get(&["usns", NODE]).unwrap();
        let observed = condition(&state, "VPPConnected").cloned().unwrap_or_default();
        check(observed["status"] == "False" && observed["reason"] == "Disconnected", state["status"].to_string())
    });
    // Also when VPP has ended before: each end has an event of its own.
    eventually("an event names the pods", || {
        let event = "involvedObject.kind=UserspaceNodeState,reason=EngineEnded";
        let output = "jsonpath={.items[*].message}";
        let events = kubectl(&["get", "events", "-n", "default", "--field-selector", event, "-o", output]);
        let pods = ["vppgone/goes (net1)", "vppgone/stays (net1)"];
        check(events.contains("VPP ended") && pods.iter().all(|pod| events.contains(pod)), events)
    });
    for pod in ["goes", "stays"] {
        let message = scene.await_event(pod, "EngineUnreachable");
        assert!(message.contains("VPP on node node-a cannot be reached"), "{message}");
    }
    await_condition("vppgone", "Ready", "False", ENGINE_GONE);
    apply(&sleeping_pod(&scene, "waits", "vppgone"));
    scene.await_refusal("waits", &["vppgone", "VPP"]);
    // A pod can go meanwhile. The agent cleans up what it could not, and does not bring its port
    // back.
    let gone = uid(&scene, "goes");
    scene.delete_pod("goes");

    run("component", &["start", "vpp", NODE]);
    wait_ready("vppgone");
    wait_running(&scene, "waits");
    let after = marks(&vpp::await_ports(NODE, "vppgone", 2));
    assert_eq!(
        before.intersection(&after).count(),
        1,
        "the port of the pod that stays, and a new one: {before:?} {after:?}"
    );
    eventually("the record of the pod that went is gone", || check(remains(&gone).is_empty(), remains(&gone)));
}

#[test]
fn removed_port_and_removed_bridge_domain_come_back() {
    let scene = Scene::new("vppdrift");
    scene.network("vppdrift", &json!({"engine": "VPP"}));
    start(&scene, &sleeping_pod(&scene, "member", "vppdrift"));
    let ports = vpp::await_ports(NODE, "vppdrift", 1);
    vpp::delete_memif(NODE, &ports[0]);
    let again = vpp::await_ports(NODE, "vppdrift", 1);
    assert_eq!(marks(&again), marks(&ports));
    vpp::delete_bridge_domain(NODE, "vppdrift", &again);
    assert_eq!(marks(&vpp::await_ports(NODE, "vppdrift", 1)), marks(&ports));
}
