//! The state of a network for scripts through its lifecycle: `kubectl wait`, kstatus, events and
//! metrics.

use crate::support::cluster::{check, eventually, get, kubectl, run, succeed, timeout, try_run, vsctl};
use crate::support::control_plane::controllers::{Controller, NAMESPACE, scrape, token_of};
use crate::support::pods::{NODE, sleeping_pod, start};
use crate::support::scene::{ENGINE_GONE, Scene, agent_pod, await_condition};
use crate::support::tools::run_tool;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Instant;
use tempfile::NamedTempFile;
use usnet_e2e::kubernetes::images::names::TOOLS_IMAGE;

/// What GitOps programs make of a network: kstatus by the library of Flux, and the health of Argo
/// CD by the check of `config/gitops`, in its Lua.
fn health_of(network: &str) -> (String, String) {
    let Some(object) = get(&["usn", network]) else { return ("NotFound".to_owned(), String::new()) };
    let check = argocd_check();
    let lines = succeed(try_run("health", &[check.path().to_str().unwrap()], &object.to_string()));
    let word = |program: &str| {
        let line = lines.lines().find_map(|line| line.strip_prefix(program)?.split_whitespace().next());
        line.unwrap_or_else(|| panic!("{program}: {lines}")).to_owned()
    };
    (word("kstatus "), word("argocd "))
}

/// The check of networks, in a file.
fn argocd_check() -> NamedTempFile {
    let patch =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../config/gitops/argocd-cm.yaml")).unwrap();
    let patch: Value = serde_yaml::from_str(&patch).unwrap();
    let [networks, others @ ..] =
        ["UserspaceNetwork", "UserspaceUplink", "UserspaceAttachment", "UserspaceReservation"]
            .map(|kind| patch["data"][format!("resource.customizations.health.usnet.dev_{kind}")].as_str().unwrap());
    assert_eq!(others, [networks; 3], "their conditions are the same");
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(networks.as_bytes()).unwrap();
    file
}

/// The health in the words of kstatus and of Argo CD.
fn health(kstatus: &str, argocd: &str) -> (String, String) {
    (kstatus.to_owned(), argocd.to_owned())
}

fn await_health(network: &str, wanted: &str, argocd: &str) {
    eventually(&format!("{network} is {wanted}, {argocd}"), || {
        let now = health_of(network);
        check(now == health(wanted, argocd), format!("{now:?}"))
    });
}

/// Waits as scripts do.
fn wait(what: &str, network: &str) {
    kubectl(&["wait", &format!("--for={what}"), &format!("usn/{network}"), timeout()]);
}

/// Reasons of the events that are told of a network.
fn events(network: &str) -> Vec<String> {
    let selector = format!("regarding.kind=UserspaceNetwork,regarding.name={network}");
    let events = get(&["events.events.k8s.io", "-n", "default", "--field-selector", &selector]).unwrap();
    let reason = |event: &Value| event["reason"].as_str().unwrap_or_default().to_owned();
    events["items"].as_array().unwrap().iter().map(reason).collect()
}

#[test]
fn scripts_agree_with_the_truth_from_creation_to_deletion() {
    let scene = Scene::new("life");
    scene.apply_network("life", &json!({}));
    wait("condition=Ready", "life");
    assert_eq!(health_of("life"), health("Current", "Healthy"));
    assert!(vsctl(NODE, &["list-br"]).contains("br-life"), "it is Ready before it is there");

    scene.apply_network("life", &json!({"bridge": {"mtu": 1400}}));
    wait("condition=Ready", "life");
    assert_eq!(
        health_of("life"),
        health("Current", "Healthy"),
        "a Ready of the old generation was taken for one of the new"
    );
    let mtu = vsctl(NODE, &["get", "Interface", "br-life", "mtu_request"]);
    assert_eq!(mtu, "1400");

    start(&scene, &sleeping_pod(&scene, "user", "life"));
    kubectl(&["delete", "usn", "life", "--wait=false"]);
    wait("condition=DeletionBlocked", "life");
    assert_eq!(health_of("life"), health("Terminating", "Progressing"));
    scene.delete_pod("user");
    wait("delete", "life");
    assert_eq!(health_of("life"), health("NotFound", ""));
    eventually("each transition is told", || {
        let reported = events("life");
        let missing =
            ["Ready", "Terminating", "InUse"].into_iter().find(|reason| !reported.iter().any(|it| it == reason));
        check(missing.is_none(), format!("{missing:?} is missing in {reported:?}"))
    });
}

#[test]
fn a_failure_on_one_node_is_failed_only_if_it_requires_operator_action() {
    let scene = Scene::new("mend");
    vsctl("node-b", &["--no-wait", "add-br", "br-mend", "--", "set", "bridge", "br-mend", "datapath_type=netdev"]);
    scene.apply_network("mend", &json!({}));
    wait("condition=Stalled", "mend");
    assert_eq!(health_of("mend"), health("Failed", "Degraded"));
    let object = get(&["usn", "mend"]).unwrap();
    assert_eq!(object["status"]["failures"][0]["node"], "node-b");
    assert_eq!(object["status"]["nodes"]["summary"], "1/2");
    vsctl("node-b", &["--no-wait", "del-br", "br-mend"]);
    wait("condition=Ready", "mend");
    assert_eq!(health_of("mend"), health("Current", "Healthy"));

    run("component", &["stop", "ovsdb-server", "node-b"]);
    await_condition("mend", "Ready", "False", ENGINE_GONE);
    await_health("mend", "InProgress", "Progressing");
    run("component", &["start", "ovsdb-server", "node-b"]);
    wait("condition=Ready", "mend");
    await_health("mend", "Current", "Healthy");
    eventually("the events", || {
        let reported = events("mend");
        check(
            ["BridgeExists", ENGINE_GONE, "Ready"].iter().all(|it| reported.iter().any(|reported| reported == it)),
            format!("{reported:?}"),
        )
    });
}

/// A pod with the test program, which connects to its ports at once.
fn pod_with_program(scene: &Scene, name: &str, network: &str) -> Value {
    let mut pod = sleeping_pod(scene, name, network);
    let container = pod["spec"]["containers"][0].as_object_mut().unwrap();
    container.insert("image".to_owned(), TOOLS_IMAGE.into());
    container.remove("command");
    pod
}

/// Waits for what `kubectl get usn` prints as PODS and CONNECTED.
fn await_columns(network: &str, pods: usize) {
    let since = Instant::now();
    eventually("PODS and CONNECTED", || {
        let status = get(&["usn", network]).unwrap()["status"].take();
        check(status["attachments"] == pods && status["connected"] == pods, status.to_string())
    });
    println!("PODS and CONNECTED of {network} are {pods} after {:.1} s", since.elapsed().as_secs_f64());
}

#[test]
fn the_columns_of_a_network_follow_each_of_its_pods() {
    let scene = Scene::new("columns");
    scene.network("columns", &json!({}));
    for number in 1..=3 {
        let name = format!("c{number}");
        start(&scene, &pod_with_program(&scene, &name, "columns"));
        // The engine connects to the program within a second, for which it waits.
        let shown = run_tool(&scene, &name, &["show"]).unwrap();
        assert_eq!(shown["connected"], true, "{shown}");
        await_columns("columns", number);
    }
    scene.delete_pods(["c1"]);
    await_columns("columns", 2);
    scene.delete_pods(["c2", "c3"]);
    await_columns("columns", 0);
}

#[test]
fn monitoring_sees_the_leader_and_every_node() {
    let scene = Scene::new("metrics");
    scene.network("metrics", &json!({}));
    // It has the network of its node, where pods must not reach it.
    let pod = get(&["pod", &agent_pod(NODE), "-n", NAMESPACE]).unwrap();
    assert!(scrape(NODE, pod["status"]["podIP"].as_str().unwrap()).is_err(), "every pod can read its metrics");
    let agent = scrape(NODE, "127.0.0.1").unwrap();
    assert!(agent.contains("usnet_agent_engine_connected{engine=\"OVS\"} 1\n"), "{agent}");
    assert!(agent.contains("usnet_agent_networks{engine=\"OVS\",state=\"Failed\"} 0\n"), "{agent}");
    assert!(
        agent.contains("usnet_agent_operation_duration_seconds_count{engine=\"OVS\",kind=\"CreateBridge\"}"),
        "{agent}"
    );

    let controller = &Controller::all()[0];
    assert_eq!(controller.metrics_status(None), "401");
    assert_eq!(controller.metrics_status(Some(&token_of("default"))), "403");
    assert!(!controller.serves_without_tls(), "metrics are served without TLS");

    // A client whose token was refused waits a second, also with another token.
    let read = |controller: &Controller| eventually("metrics", || controller.metrics());
    let texts: Vec<String> = Controller::all().iter().map(read).collect();
    let leads = |text: &&String| text.contains("usnet_controller_leader 1\n");
    assert_eq!(texts.iter().filter(leads).count(), 1, "{texts:#?}");
    let leader = texts.iter().find(leads).unwrap();
    for line in [
        "usnet_controller_nodes{state=\"UpToDate\"} 2\n",
        "usnet_controller_writes_total{kind=\"CompiledNetwork\",result=\"success\"}",
    ] {
        assert!(leader.contains(line), "{line} is missing in {leader}");
    }
}
