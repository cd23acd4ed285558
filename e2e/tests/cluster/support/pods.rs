//! Pods with interfaces of usnet, and their state.

use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, succeed, timeout};
use crate::support::scene::Scene;
use crate::support::testpmd::{Driver, Program, last_counters};
use serde_json::{Value, json};

/// The node of the pods of these tests: networks have no uplink, so pods that exchange packets
/// share a node.
pub(crate) const NODE: &str = "node-a";

/// Returns a pod on [`NODE`] that sleeps, with this `networks` annotation and the volume `usnet`.
pub(crate) fn sleeping_pod(scene: &Scene, name: &str, networks: &str) -> Value {
    let mut sleeping = pod(scene, name, networks, "busybox:e2e", &["busybox".into(), "sleep".into(), "3600".into()]);
    // The default request is the limit, with which a node has room for only six pods.
    sleeping["spec"]["containers"][0]["resources"]["requests"] = json!({"cpu": "10m"});
    sleeping
}

/// Returns a pod whose DPDK program uses the interfaces `net1`… over vhost-user, in a forwarding
/// mode of testpmd.
pub(crate) fn testpmd_pod(scene: &Scene, name: &str, networks: &str, mode: &str) -> Value {
    dpdk_pod(scene, name, networks, Program::new(Driver::VhostServer, mode))
}

/// Returns a pod whose DPDK program uses the interfaces `net1`….
pub(crate) fn dpdk_pod(scene: &Scene, name: &str, networks: &str, program: Program<'_>) -> Value {
    let command = program.command(networks.split(',').count());
    let mut pod = pod(scene, name, networks, "testpmd:e2e", &command);
    if !program.driver.needs_volume() {
        pod["spec"]["volumes"] = json!([]);
        pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    }
    pod
}

fn pod(scene: &Scene, name: &str, networks: &str, image: &str, command: &[String]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": scene.name, "annotations": {"k8s.v1.cni.cncf.io/networks": networks}},
        "spec": {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "main", "image": image, "imagePullPolicy": "Never", "stdin": true, "command": command,
                "volumeMounts": [{"name": "usnet", "mountPath": "/run/usnet"}],
                // Polling programs share two cores with the whole cluster.
                "resources": {"limits": {"cpu": "300m"}},
            }],
            "volumes": [{"name": "usnet", "emptyDir": {}}],
        },
    })
}

/// Applies a pod and waits until it runs.
#[track_caller]
pub(crate) fn start(scene: &Scene, pod: &Value) {
    apply(pod);
    wait_running(scene, pod["metadata"]["name"].as_str().unwrap());
}

/// Waits until a pod runs.
#[track_caller]
pub(crate) fn wait_running(scene: &Scene, name: &str) {
    let waited = crate::support::cluster::try_run(
        "kubectl",
        &["wait", "--for=condition=Ready", &format!("pod/{name}"), "-n", &scene.name, timeout()],
        "",
    );
    succeed(waited.map_err(|error| format!("{error}\n{}", scene.events(name))));
}

/// Returns the packets that each port of a testpmd pod has received, by the last output of the
/// program.
pub(crate) fn received(scene: &Scene, pod: &str) -> Vec<i64> {
    last_counters(&kubectl(&["logs", pod, "-n", &scene.name, "--tail=60"]))
}

/// Waits until every port of a testpmd pod has received a packet.
#[track_caller]
pub(crate) fn await_packets(scene: &Scene, pod: &str, ports: usize) -> Vec<i64> {
    eventually("packets", || {
        let packets = received(scene, pod);
        check(packets.len() == ports && packets.iter().all(|count| *count > 0), format!("{packets:?}"))?;
        Ok(packets)
    })
}

/// Returns the description of an interface in a pod.
pub(crate) fn description(scene: &Scene, pod: &str, interface: &str) -> Value {
    let text =
        kubectl(&["exec", pod, "-n", &scene.name, "--", "busybox", "cat", &format!("/run/usnet/{interface}.json")]);
    serde_json::from_str(&text).unwrap()
}

/// Runs a script of the shell of busybox in a pod, which must succeed.
#[track_caller]
pub(crate) fn in_pod(scene: &Scene, pod: &str, script: &str) -> String {
    kubectl(&["exec", pod, "-n", &scene.name, "--", "busybox", "sh", "-c", script])
}

/// Returns a pod on [`NODE`] that sleeps, without a volume, which `Veth` ports do not need.
pub(crate) fn pod_without_volume(scene: &Scene, name: &str, networks: &str) -> Value {
    let mut pod = sleeping_pod(scene, name, networks);
    pod["spec"]["volumes"] = json!([]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    pod
}

pub(crate) fn uid(scene: &Scene, pod: &str) -> String {
    get(&["pod", pod, "-n", &scene.name]).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Returns what is left of a pod on its node: port, mount, address and record.
pub(crate) fn remains(uid: &str) -> String {
    let script = format!(
        "grep -ls '{uid}' /var/lib/usnet/attachments/*; grep '/run/usnet/ports/' /proc/self/mountinfo | grep '{uid}'; \
         ovs-vsctl --bare --columns=options list Interface | grep '{uid}'; ls /var/lib/kubelet/pods | grep '{uid}'; true"
    );
    on_node(NODE, &["sh", "-c", &script])
}
