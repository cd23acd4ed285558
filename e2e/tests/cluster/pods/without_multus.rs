//! Pods of the real kubelet on a node whose runtime calls usnet itself, behind `ptp`, and no
//! Multus.

use crate::resource_claims;
use crate::support::cluster::{check, eventually, get, kubectl, on_node, run, try_run, vsctl};
use crate::support::pods::{NODE, await_packets, description, remains, sleeping_pod, start, testpmd_pod, uid};
use crate::support::scene::Scene;
use serde_json::{Value, json};

/// containerd takes the first list by name, and Multus has `00-multus.conf`.
const LIST: &str = "/etc/cni/net.d/00-alone.conflist";
/// Addresses of `eth0` by that list.
const PODS: &str = "10.199.0.";

/// A node without Multus, until this is dropped. Pods that it has by then must be gone: containerd
/// ends a pod by the list that it has at that time.
struct Alone;

impl Alone {
    fn new(scene: &Scene) -> Self {
        let ipam = json!({"type": "host-local", "ranges": [[{"subnet": format!("{PODS}0/24")}]], "routes": [{"dst": "0.0.0.0/0"}]});
        let ours = json!({"type": "userspace", "networks": "FromPodAnnotations", "capabilities": {"io.kubernetes.cri.pod-annotations": true}});
        let list = json!({"cniVersion": "1.0.0", "name": "alone", "plugins": [{"type": "ptp", "ipam": ipam}, ours]});
        let alone = Self;
        on_node(NODE, &["sh", "-c", &format!("echo '{list}' > {LIST}.new && mv {LIST}.new {LIST}")]);
        alone.await_list(scene);
        alone
    }

    /// containerd reads its folder when it sees that it changed. The first pod that gets such an
    /// address shows it.
    fn await_list(&self, scene: &Scene) {
        eventually("containerd takes the list of plugins", || {
            start(scene, &without_volume(sleeping_pod(scene, "probe", "")));
            let address = pod_address(scene, "probe");
            scene.delete_pod("probe");
            check(address.starts_with(PODS), address)
        });
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if let Err(error) = try_run("on-node", &[NODE, "rm", "-f", LIST], "") {
            eprintln!("putting Multus back on {NODE}: {error}");
        }
    }
}

fn without_volume(mut pod: Value) -> Value {
    pod["spec"]["volumes"] = json!([]);
    pod["spec"]["containers"][0]["volumeMounts"] = json!([]);
    pod
}

fn annotated(mut pod: Value, key: &str, networks: &str) -> Value {
    pod["metadata"]["annotations"] = json!({key: networks});
    pod
}

/// The pod's address as the API server has it.
fn pod_address(scene: &Scene, pod: &str) -> String {
    get(&["pod", pod, "-n", &scene.name]).unwrap()["status"]["podIP"].as_str().unwrap_or_default().to_owned()
}

fn in_pod(scene: &Scene, pod: &str, script: &str) -> String {
    kubectl(&["exec", pod, "-n", &scene.name, "--", "busybox", "sh", "-c", script])
}

fn delete(scene: &Scene, pods: &[&str]) {
    for pod in pods {
        let gone = uid(scene, pod);
        scene.delete_pod(pod);
        eventually("everything of the pod is gone", || check(remains(&gone).is_empty(), remains(&gone)));
    }
    let held = on_node(
        NODE,
        &["sh", "-c", "ls /var/lib/cni/networks/alone /var/lib/cni/networks/alone-a | grep '^10' || true"],
    );
    assert_eq!(held, "", "addresses are given back");
    let attached = on_node(NODE, &["sh", "-c", "grep -ls 'alone-' /var/lib/usnet/attachments/* || true"]);
    assert_eq!(attached, "");
    assert_eq!(vsctl(NODE, &["list-ports", "br-alone-veth"]), "");
}

#[test]
fn pods_attach_to_the_networks_of_their_annotation_and_leave_nothing() {
    // Dropped in the other order: first the pods go.
    let base = Scene::new("alone");
    let _alone = Alone::new(&base);
    let scene = Scene::new("alone-pods");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.8.0/24"}], [{"subnet": "fd00:56:8::/64"}]]});
    scene.network("alone-a", &json!({"ipam": ipam}));
    scene.network("alone-b", &json!({}));
    scene.network("alone-veth", &json!({"port": {"type": "Veth"}}));

    two_networks_and_packets_on_both(&scene);
    kubelet_restarts_and_packets_go_on(&scene);
    interfaces_of_the_kernel_by_the_own_annotation(&scene);
    ten_interfaces(&scene);
    interfaces_of_the_kernel_by_claims(&scene);
    a_pod_without_any_gets_one_while_it_runs(&scene);
    what_cannot_be_attached_is_reported_in_the_pods_event(&scene);
}

fn two_networks_and_packets_on_both(scene: &Scene) {
    for pod in ["left", "right"] {
        start(scene, &testpmd_pod(scene, pod, "alone-a,alone-b", "flowgen"));
    }
    let packets = await_packets(scene, "right", 2);
    println!("packets without Multus, on two networks of a pod: {packets:?}");
    for pod in ["left", "right"] {
        let object = get(&["pod", pod, "-n", &scene.name]).unwrap();
        assert!(
            object["metadata"]["annotations"].get("k8s.v1.cni.cncf.io/network-status").is_none(),
            "Multus was here"
        );
        let observed: Vec<_> = object["status"]["podIPs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|ip| ip["ip"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(observed.len(), 1, "those of eth0 alone: {observed:?}");
        assert!(observed[0].starts_with(PODS), "{observed:?}");
    }
    let described: Value =
        serde_json::from_str(&kubectl(&["exec", "left", "-n", &scene.name, "--", "cat", "/run/usnet/net1.json"]))
            .unwrap();
    assert_eq!((&described["network"], described["ips"].as_array().unwrap().len()), (&json!("alone-a"), 2));
}

fn kubelet_restarts_and_packets_go_on(scene: &Scene) {
    run("component", &["stop", "kubelet", NODE]);
    run("component", &["start", "kubelet", NODE]);
    start(scene, &sleeping_pod(scene, "later", "alone-b@data"));
    assert_eq!(description(scene, "later", "data")["network"], "alone-b");
    let before = await_packets(scene, "right", 2);
    eventually("more packets", || {
        let now = await_packets(scene, "right", 2);
        check(now.iter().zip(&before).all(|(now, before)| now > before), format!("{now:?}"))
    });
    eventually("the count of attached pods", || {
        let observed = get(&["usn", "alone-b"]).unwrap()["status"]["attachments"].clone();
        check(observed == 3, observed.to_string())
    });
    delete(scene, &["later", "left", "right"]);
}

fn interfaces_of_the_kernel_by_the_own_annotation(scene: &Scene) {
    for (pod, address) in [("first", "10.57.8.1/24"), ("second", "10.57.8.2/24")] {
        let networks =
            json!([{"name": "alone-veth", "interface": "data0", "ips": [address], "default-route": ["10.57.8.254"]}]);
        let plain = without_volume(sleeping_pod(scene, pod, ""));
        start(scene, &annotated(plain, "usnet.dev/networks", &networks.to_string()));
    }
    let answered = in_pod(scene, "first", "busybox ping -c 3 -W 5 -I data0 10.57.8.2");
    assert!(answered.contains("3 packets received"), "{answered}");
    let routes = in_pod(scene, "first", "busybox ip route");
    assert!(routes.contains("default via 10.57.8.254 dev data0"), "{routes}");
    let own = in_pod(scene, "first", "busybox ip -4 addr show dev eth0");
    assert!(own.contains(&pod_address(scene, "first")), "{own}");
    delete(scene, &["first", "second"]);
}

fn ten_interfaces(scene: &Scene) {
    let networks = ["alone-a", "alone-veth"].repeat(5).join(",");
    start(scene, &sleeping_pod(scene, "many", &networks));
    assert_eq!(in_pod(scene, "many", "ls /run/usnet/*.json").lines().count(), 5);
    let devices = in_pod(scene, "many", "busybox ip -o link");
    assert!((1..=5).all(|number| devices.contains(&format!("net{}", number * 2))), "{devices}");
    delete(scene, &["many"]);
}

/// Ports that need the network namespace are attached with the sandbox, and nothing names Multus.
fn interfaces_of_the_kernel_by_claims(scene: &Scene) {
    if !resource_claims::is_supported() {
        return;
    }
    start(scene, &without_volume(sleeping_pod(scene, "keeper", "")));
    let mut network = resource_claims::network_on_node("OVS", 4);
    network["port"] = json!({"type": "Veth"});
    scene.network("alone-claims", &network);
    resource_claims::await_device(NODE, "alone-claims");
    for (pod, address) in [("first", "10.57.9.1/24"), ("second", "10.57.9.2/24")] {
        resource_claims::template(scene, pod, "alone-claims", &json!({"ips": [address]}));
        start(scene, &resource_claims::claiming_pod(scene, pod, pod));
    }
    let answered = in_pod(scene, "first", "busybox ping -c 3 -W 5 -I $USNET_CLAIM_UPLINK_PORT_INTERFACE 10.57.9.2");
    assert!(answered.contains("3 packets received"), "{answered}");
    let mac = in_pod(scene, "first", "cat /sys/class/net/$USNET_CLAIM_UPLINK_PORT_INTERFACE/address");
    eventually("the status of the claim, and the metadata in the container", || {
        let device = resource_claims::claim_of(scene, "first")["status"]["devices"][0].take();
        let (data, ready) = (&device["networkData"], &device["conditions"][0]["status"]);
        let metadata: Value = serde_json::from_str(&in_pod(scene, "first", resource_claims::METADATA)).unwrap();
        let expected = json!({"interfaceName": "claim1", "hardwareAddress": mac.trim(), "ips": ["10.57.9.1/24"]});
        let is_there = *data == expected && metadata["requests"][0]["devices"][0]["networkData"] == expected;
        check(is_there && ready == "True", format!("{device}\n{metadata}"))
    });
    delete(scene, &["first", "second", "keeper"]);
    resource_claims::await_nothing_left(NODE);
}

fn a_pod_without_any_gets_one_while_it_runs(scene: &Scene) {
    let mut bare = sleeping_pod(scene, "bare", "");
    bare["metadata"].as_object_mut().unwrap().remove("annotations");
    start(scene, &bare);
    let sandboxes = || on_node(NODE, &["ls", "/run/usnet/sandboxes"]);
    let pod = uid(scene, "bare");
    assert!(sandboxes().contains(&pod));
    let attachment = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
        "metadata": {"name": "bare", "namespace": scene.name},
        "spec": {"pod": "bare", "network": "alone-a", "interface": "net7"},
    });
    crate::support::cluster::apply(&attachment);
    kubectl(&["wait", "--for=condition=Ready", "usna/bare", "-n", &scene.name, crate::support::cluster::timeout()]);
    assert_eq!(description(scene, "bare", "net7")["network"], "alone-a");
    delete(scene, &["bare"]);
    assert!(!sandboxes().contains(&pod));
    eventually("the attachment ends with its pod", || {
        check(get(&["usna", "bare", "-n", &scene.name]).is_none(), "it is there")
    });
}

fn what_cannot_be_attached_is_reported_in_the_pods_event(scene: &Scene) {
    crate::support::cluster::apply(&sleeping_pod(scene, "refused", "alone-a,nowhere"));
    scene.await_refusal("refused", &["element 2 (nowhere as net2) of annotation k8s.v1.cni.cncf.io/networks"]);
    let left = get(&["usn", "alone-a"]).unwrap()["status"]["attachments"].clone();
    assert_eq!(left, 0, "the first was undone");
    delete(scene, &["refused"]);
}
