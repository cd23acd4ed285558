//! Parts that stop: the agent, the API server, Open vSwitch.

use crate::cluster::{NODES, check, condition, eventually, get, kubectl, on_node, run, try_run, vsctl};
use crate::pods::{NODE, await_packets, every_counter, sleeping_pod, start, testpmd_pod, uid};
use crate::scene::{Scene, agent_log, agent_pod, await_condition, wait_ready};
use serde_json::{Value, json};

#[test]
fn a_restarted_agent_changes_nothing_and_no_packet_waits() {
    let scene = Scene::new("restart");
    scene.network("restart", &json!({}));
    for pod in ["left", "right"] {
        start(&scene, &testpmd_pod(&scene, pod, "restart", "flowgen"));
    }
    await_packets(&scene, "right", 1);
    eventually("the status settles", || {
        let shown = get(&["usn", "restart"]).unwrap()["status"]["attachments"].clone();
        check(shown == 2, shown.to_string())
    });

    // What Open vSwitch keeps on disk grows with each changed row; counters are not part of it.
    let database = || on_node(NODE, &["cksum", "/etc/openvswitch/conf.db"]);
    let (before, agent) = (database(), agent_pod(NODE));
    kubectl(&["delete", "pod", &agent, "-n", "usnet-system", "--grace-period=0", "--force"]);
    eventually("another agent runs", || {
        let now = agent_pod(NODE);
        check(now != agent, "still the first")?;
        try_run("kubectl", &["wait", "--for=condition=Ready", &format!("pod/{now}"), "-n", "usnet-system"], "")
            .map(drop)
    });
    eventually("the agent has looked at everything", || {
        let log = agent_log(NODE);
        check(log.contains("programmed=1"), log)
    });
    assert_eq!(database(), before, "a row of Open vSwitch changed");

    let first = await_packets(&scene, "right", 1);
    eventually("more packets", || {
        let now = await_packets(&scene, "right", 1);
        check(now > first, format!("{now:?}"))
    });
    let counts: Vec<u64> =
        every_counter(&kubectl(&["logs", "right", "-n", &scene.name])).into_iter().map(|(_, count)| count).collect();
    let flowing: Vec<u64> = counts.into_iter().skip_while(|count| *count == 0).collect();
    assert!(flowing.is_sorted_by(|earlier, later| earlier < later), "the receiver's counter stood still: {flowing:?}");
}

/// Stands in for kubelet's folder: kubelet itself tidies away what belongs to no pod.
const KUBELET: &str = "/run/direct-kubelet";

/// Calls the plugin on a node as Multus does, for a pod that the API server has never heard of.
fn plugin(command: &str, network: &str, namespace: &str, uid: &str) -> Result<String, String> {
    let config = json!({"cniVersion": "1.1.0", "name": network, "type": "userspace", "network": network});
    let arguments = format!("IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME=direct;K8S_POD_UID={uid}");
    let environment = [
        format!("CNI_COMMAND={command}"),
        format!("CNI_CONTAINERID=direct-{uid}"),
        "CNI_NETNS=/run/netns/direct".to_owned(),
        "CNI_IFNAME=net1".to_owned(),
        format!("CNI_ARGS={arguments}"),
        "CNI_PATH=/opt/cni/bin".to_owned(),
        format!("USNET_KUBELET_DIR={KUBELET}"),
    ];
    let mut words = vec![NODE, "env"];
    words.extend(environment.iter().map(String::as_str));
    words.push("/opt/cni/bin/userspace");
    try_run("on-node", &words, &config.to_string())
}

#[test]
fn pods_start_and_stop_without_the_api_server() {
    let scene = Scene::new("headless");
    scene.network("headless", &json!({"ipam": {"type": "host-local", "ranges": [[{"subnet": "10.56.3.0/24"}]]}}));
    let uid = "00000000-1111-2222-3333-444444444444";
    let volume = format!("{KUBELET}/pods/{uid}/volumes/kubernetes.io~empty-dir/usnet");
    on_node(NODE, &["sh", "-c", &format!("mkdir -p '{volume}'; ip netns add direct")]);

    run("component", &["stop", "kube-apiserver"]);
    let added = plugin("ADD", "headless", &scene.name, uid);
    let port = vsctl(NODE, &["list-ports", "br-headless"]);
    let deleted = plugin("DEL", "headless", &scene.name, uid);
    let left = vsctl(NODE, &["list-ports", "br-headless"]);
    // Drift is repaired without the API server as well.
    vsctl(NODE, &["--no-wait", "del-br", "br-headless"]);
    eventually("the bridge is back", || check(vsctl(NODE, &["list-br"]).contains("br-headless"), "not there"));
    run("component", &["start", "kube-apiserver"]);
    on_node(NODE, &["sh", "-c", &format!("ip netns del direct; rm -r '{KUBELET}'")]);

    let result: Value = serde_json::from_str(&added.unwrap()).unwrap();
    assert!(result["ips"][0]["address"].as_str().unwrap().starts_with("10.56.3."), "{result}");
    assert!(port.starts_with("vhu"), "{port}");
    assert_eq!((deleted.as_deref(), left.as_str()), (Ok(""), ""));

    // All catches up: a new network, and a pod on it.
    scene.network("headless-2", &json!({}));
    start(&scene, &sleeping_pod(&scene, "after", "headless-2"));
}

#[test]
fn open_vswitch_gone_is_said_and_mended_by_itself() {
    let scene = Scene::new("ovsgone");
    scene.network("ovsgone", &json!({}));
    start(&scene, &sleeping_pod(&scene, "runs", "ovsgone"));
    let port = vsctl(NODE, &["list-ports", "br-ovsgone"]);

    run("component", &["stop", "ovs-vswitchd", NODE]);
    run("component", &["stop", "ovsdb-server", NODE]);
    eventually("the node says so", || {
        let state = get(&["usns", NODE]).unwrap();
        let shown = condition(&state, "OVSConnected").cloned().unwrap_or_default();
        check(shown["status"] == "False" && shown["reason"] == "Disconnected", state["status"].to_string())
    });
    await_condition("ovsgone", "Ready", "False", "EngineUnreachable");
    crate::cluster::apply(&sleeping_pod(&scene, "waits", "ovsgone"));
    scene.await_refusal("waits", &["ovsgone", "Open vSwitch"]);
    // A pod can go meanwhile; the agent cleans up what it could not.
    let gone = uid(&scene, "runs");
    scene.delete_pod("runs");

    run("component", &["start", "ovsdb-server", NODE]);
    run("component", &["start", "ovs-vswitchd", NODE]);
    wait_ready("ovsgone");
    crate::pods::wait_running(&scene, "waits");
    eventually("the port of the pod that went is gone", || {
        let ports = vsctl(NODE, &["list-ports", "br-ovsgone"]);
        check(!ports.contains(&port) && ports.lines().count() == 1, ports)
    });
    eventually("its record is gone", || {
        let remains = crate::pods::remains(&gone);
        check(remains.is_empty(), remains)
    });
    assert!(NODES.iter().all(|node| vsctl(node, &["list-br"]).contains("br-ovsgone")));
}
