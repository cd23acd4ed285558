//! Unmodified pods of the legacy userspace CNI: they find the files that they expect, and nothing
//! is left of them.

use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, timeout, try_run, vsctl};
use crate::support::pods::{NODE, await_packets, remains, sleeping_pod, uid, wait_running};
use crate::support::scene::{Scene, agent_pod, wait_ready};
use crate::support::vpp;
use serde_json::{Value, json};

const MAPPED_DIR: &str = "/var/lib/cni/usrspcni";
const TESTPMD: &str = include_str!("../../../testdata/old-testpmd.sh");
const OLD_MEMIF: &str = include_str!("../../../testdata/old-memif.sh");

/// A definition as the legacy plugin's examples have it.
pub(super) fn definition(scene: &Scene, name: &str, bridge: &str) -> Value {
    let config = json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": name,
        "kubeconfig": "/etc/cni/net.d/multus.d/multus.kubeconfig", "logFile": "/var/log/userspace.log", "logLevel": "debug",
        "host": {
            "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge", "vhost": {"mode": "client"},
            "bridge": {"bridgeName": bridge},
        },
        "container": {"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
        "ipam": {"type": "host-local", "subnet": "10.56.217.0/24", "rangeStart": "10.56.217.131", "routes": [{"dst": "0.0.0.0/0"}], "gateway": "10.56.217.1"},
    });
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": scene.name}, "spec": {"config": config.to_string()},
    })
}

/// A pod as those examples have it: the volume `shared-dir`, and its annotations by the downward
/// API.
fn old_pod(scene: &Scene, name: &str, networks: &str) -> Value {
    let mut pod = sleeping_pod(scene, name, networks);
    pod["spec"]["volumes"] = json!([
        {"name": "shared-dir", "emptyDir": {}},
        {"name": "podinfo", "downwardAPI": {"items": [{"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}}]}},
    ]);
    pod["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": "shared-dir", "mountPath": MAPPED_DIR}, {"name": "podinfo", "mountPath": "/etc/podinfo"}]);
    pod
}

pub(super) fn testpmd_pod(scene: &Scene, name: &str, network: &str, mode: &str) -> Value {
    let mut pod = old_pod(scene, name, network);
    let container = &mut pod["spec"]["containers"][0];
    container["image"] = "testpmd:e2e".into();
    container["command"] = json!(["sh", "-c", TESTPMD]);
    container["env"] = json!([
        {"name": "ARGUMENTS", "value": "--no-pci --no-huge --no-telemetry -l 0,1 -m 64"}, {"name": "MODE", "value": mode},
    ]);
    pod
}

/// Without the annotation that `kubectl apply` adds: it would have the program's own words in the
/// file that the program searches.
pub(super) fn create(pod: &Value) {
    try_run("kubectl", &["create", "-f", "-"], &pod.to_string()).unwrap_or_else(|error| panic!("{error}"));
}

/// The elements of a pod's annotation, once there are as many as it has interfaces.
fn elements(scene: &Scene, pod: &str, count: usize) -> Vec<Value> {
    eventually("the annotation", || {
        let annotations = get(&["pod", pod, "-n", &scene.name]).unwrap()["metadata"]["annotations"].clone();
        let text = annotations["userspace/configuration-data"].as_str().unwrap_or("[]");
        let elements: Vec<Value> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        check(elements.len() == count, text)?;
        check(annotations["userspace/mapped-dir"] == format!("{MAPPED_DIR}/"), annotations.to_string())?;
        Ok(elements)
    })
}

#[test]
fn testpmd_of_the_legacy_tests_finds_its_socket_and_packets_flow() {
    let scene = Scene::new("old-testpmd");
    apply(&definition(&scene, "old-testpmd", "br-hand"));
    wait_ready("ovs-br-hand");
    create(&testpmd_pod(&scene, "rx", "old-testpmd", "rxonly"));
    create(&testpmd_pod(&scene, "tx", "old-testpmd", "txonly"));
    wait_running(&scene, "rx");
    let packets = await_packets(&scene, "rx", 1);
    println!("packets received by the program of the older tests: {packets:?}");
    let reported = elements(&scene, "rx", 1);
    let container = reported[0]["containerId"].as_str().unwrap();
    assert_eq!(reported[0]["config"]["vhost"]["socketfile"], format!("{}-net1", &container[..12]));
    assert_eq!(reported[0]["ipResult"]["ips"][0]["gateway"], "10.56.217.1");
    // Another agent repeats no event that was reported already.
    let version = || get(&["pod", "rx", "-n", &scene.name]).unwrap()["metadata"]["resourceVersion"].clone();
    let before = version();
    kubectl(&["delete", "pod", "-n", "usnet-system", &agent_pod(NODE), timeout()]);
    kubectl(&["rollout", "status", "daemonset/usnet-agent", "-n", "usnet-system", timeout()]);
    assert_eq!(version(), before);
    let uids = ["rx", "tx"].map(|pod| uid(&scene, pod));
    kubectl(&["delete", "pods", "--all", "-n", &scene.name, "--grace-period=1", timeout()]);
    for uid in uids {
        eventually("nothing is left of the pod", || check(remains(&uid).is_empty(), remains(&uid)));
    }
    kubectl(&["delete", "net-attach-def", "--all", "-n", &scene.name]);
    eventually("the network goes", || check(get(&["usn", "ovs-br-hand"]).is_none(), "still there"));
}

/// A definition of the legacy plugin for VPP.
pub(super) fn definition_of_vpp(scene: &Scene, name: &str, bridge: u32) -> Value {
    let memif = |role: &str| json!({"role": role, "mode": "ethernet"});
    let config = json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": name,
        "host": {
            "engine": "vpp", "iftype": "memif", "netType": "bridge", "memif": memif("master"),
            "bridge": {"bridgeName": bridge.to_string()},
        },
        "container": {"engine": "vpp", "iftype": "memif", "netType": "interface", "memif": memif("slave")},
    });
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": scene.name}, "spec": {"config": config.to_string()},
    })
}

/// A program that takes its socket's name out of the annotation.
pub(super) fn memif_pod(scene: &Scene, name: &str, network: &str) -> Value {
    let mut pod = testpmd_pod(scene, name, network, "flowgen");
    pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", OLD_MEMIF]);
    pod
}

#[test]
fn a_program_finds_its_memif_by_the_legacy_annotation_and_packets_flow() {
    let (scene, network) = (Scene::new("old-memif"), "vpp-4711");
    apply(&definition_of_vpp(&scene, "old-memif", 4711));
    wait_ready(network);
    for pod in ["left", "right"] {
        create(&memif_pod(&scene, pod, "old-memif"));
    }
    vpp::await_ports(NODE, network, 2);
    for pod in ["left", "right"] {
        let reported = elements(&scene, pod, 1);
        let container = reported[0]["containerId"].as_str().unwrap();
        let expected =
            json!({"role": "slave", "mode": "ethernet", "socketfile": format!("memif-{}-net1.sock", &container[..12])});
        assert_eq!(reported[0]["config"]["memif"], expected);
        if vpp::moves_packets("packets of programs that read the older annotation") {
            wait_running(&scene, pod);
            println!("{pod} received {:?} packets", await_packets(&scene, pod, 1));
        }
    }
    kubectl(&["delete", "pods", "--all", "-n", &scene.name, "--grace-period=1", timeout()]);
    vpp::await_ports(NODE, network, 0);
    kubectl(&["delete", "net-attach-def", "--all", "-n", &scene.name]);
    eventually("the network goes", || check(get(&["usn", network]).is_none(), "still there"));
}

/// What the legacy plugin leaves of a pod in Open vSwitch and on the disk.
fn leave_older_port(container: &str) {
    let (name, folder) = (format!("{container}-net1"), format!("/usr/local/var/run/openvswitch/{container}"));
    let path = format!("options:vhost-server-path={folder}/{name}");
    let kind = "type=dpdkvhostuserclient";
    vsctl(NODE, &["--no-wait", "add-port", "br-switch", &name, "--", "set", "Interface", &name, kind, &path]);
    let content = json!({"vhostname": name, "vhostmac": "", "ifmac": "aa:bb:cc:dd:ee:ff"}).to_string();
    let state = "/var/lib/cni/usrspcni/data";
    let script = format!(
        "mkdir -p {state} {folder} && printf %s '{content}' > {state}/local-{name}.json && : > {folder}/configData-{name}.json"
    );
    on_node(NODE, &["sh", "-c", &script]);
}

/// Calls the plugin on the node as the runtime would for a pod of the legacy plugin.
fn delete_older_pod(container: &str, configuration: &str) {
    let script = "printf %s \"$CONFIGURATION\" | /opt/cni/bin/userspace";
    let arguments = format!("CNI_CONTAINERID={container}{}", "0".repeat(52));
    let configuration = format!("CONFIGURATION={configuration}");
    let pod = "CNI_ARGS=IgnoreUnknown=true;K8S_POD_NAMESPACE=switched;K8S_POD_NAME=older;K8S_POD_UID=0b6e0000-0000-4000-8000-000000000001";
    let rest = ["CNI_COMMAND=DEL", "CNI_IFNAME=net1", "CNI_PATH=/opt/cni/bin", "CNI_NETNS=/nonexistent"];
    on_node(NODE, &[&["env", &arguments, &configuration, pod], rest.as_slice(), &["sh", "-c", script]].concat());
}

#[test]
fn a_node_is_migrated_while_pods_of_the_legacy_plugin_run() {
    const OLDER: [&str; 2] = ["0dab12cd34ab", "1dab12cd34ab"];
    let scene = Scene::new("switched");
    vsctl(NODE, &["--no-wait", "add-br", "br-switch", "--", "set", "Bridge", "br-switch", "datapath_type=netdev"]);
    OLDER.iter().for_each(|container| leave_older_port(container));
    let nodes = json!({"matchLabels": {"kubernetes.io/hostname": NODE}});
    let bridge = json!({"name": "br-switch", "ownership": "Adopted"});
    scene.network("switched", &json!({"nodeSelector": nodes, "bridge": bridge}));
    let joined = definition(&scene, "older", "br-switch");
    apply(&joined);
    apply(&old_pod(&scene, "newer", "older"));
    wait_running(&scene, "newer");
    elements(&scene, "newer", 1);
    let ports = || vsctl(NODE, &["list-ports", "br-switch"]);
    assert_eq!(ports().lines().count(), 3, "{}", ports());

    delete_older_pod(OLDER[0], joined["spec"]["config"].as_str().unwrap());
    assert!(!ports().contains(OLDER[0]) && ports().contains(OLDER[1]), "{}", ports());
    assert_eq!(ports().lines().count(), 2, "{}", ports());
    let left = on_node(NODE, &["sh", "-c", "ls /var/lib/cni/usrspcni/data /usr/local/var/run/openvswitch"]);
    assert!(!left.contains(OLDER[0]) && left.contains(OLDER[1]), "{left}");
    scene.delete_pod("newer");
    delete_older_pod(OLDER[1], joined["spec"]["config"].as_str().unwrap());
    assert_eq!(ports(), "");
    assert!(vsctl(NODE, &["list-br"]).contains("br-switch"), "no bridge goes with the last port");
    kubectl(&["delete", "net-attach-def", "older", "-n", &scene.name]);
    drop(scene);
    vsctl(NODE, &["--no-wait", "del-br", "br-switch"]);
}
