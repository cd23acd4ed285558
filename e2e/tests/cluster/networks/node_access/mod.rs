//! Pods whose only network is one of usnet: kubelet's probes, Services and host ports reach them,
//! and they reach nothing of the node.

mod kube_proxy;

use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, try_run, vsctl};
use crate::support::pods::{NODE, in_pod, sleeping_pod, start, wait_running};
use crate::support::scene::{Scene, await_condition};
use crate::support::vpp;
use kube_proxy::KubeProxy;
use serde_json::{Value, json};

const OTHER_NODE: &str = "node-b";
/// The port of the program in the pods.
const PORT: u16 = 8080;
/// A port that every node listens on: that of kubelet.
const KUBELET: u16 = 10250;
/// The address of [`NODE`] in the cluster, and of the Service of the API server.
const NODE_ADDRESS: &str = "10.200.0.10";
const API_SERVER: &str = "10.0.0.1";

/// A network with the node in it; `number` is a part of its subnets.
fn network(number: u8, engine: &str) -> Value {
    let subnets = [format!("10.63.{number}.0/24"), format!("fd00:63:{number}::/64")];
    json!({
        "engine": engine, "port": {"type": "Veth"},
        "nodeAccess": {"addresses": [format!("10.63.{number}.1/24"), format!("fd00:63:{number}::1/64")]},
        "ipam": {"type": "host-local", "ranges": subnets.map(|subnet| json!([{"subnet": subnet}]))},
    })
}

/// A pod with a server, which is ready when kubelet has reached that.
fn server(scene: &Scene, name: &str, annotations: &Value) -> Value {
    let mut pod = sleeping_pod(scene, name, "");
    pod["metadata"]["annotations"] = annotations.clone();
    pod["metadata"]["labels"] = json!({"app": name});
    let main = &mut pod["spec"]["containers"][0];
    let serve =
        format!("busybox mkdir /www && echo {name} >/www/index.html && exec busybox httpd -f -p {PORT} -h /www");
    main["command"] = json!(["busybox", "sh", "-c", serve]);
    let probe = json!({"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1});
    // It adds routes, as an attacker would.
    main["securityContext"] = json!({"capabilities": {"add": ["NET_ADMIN"]}});
    main["readinessProbe"] = probe.clone();
    main["livenessProbe"] = probe;
    pod
}

/// The annotation by which the network of this name is the pod's default network.
fn only(scene: &Scene, network: &str) -> Value {
    json!({"v1.multus-cni.io/default-network": format!("{}/{network}", scene.name)})
}

fn ip_of(scene: &Scene, pod: &str) -> String {
    get(&["pod", pod, "-n", &scene.name]).unwrap()["status"]["podIP"].as_str().unwrap().to_owned()
}

fn service(scene: &Scene, name: &str) -> String {
    apply(&json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": scene.name},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": PORT}]},
    }));
    get(&["service", name, "-n", &scene.name]).unwrap()["spec"]["clusterIP"].as_str().unwrap().to_owned()
}

/// What a pod gets from a server.
fn fetch(scene: &Scene, pod: &str, (host, port): (&str, u16)) -> Result<String, String> {
    let script = format!("printf 'GET / HTTP/1.0\\r\\n\\r\\n' | busybox nc -w 2 {host} {port} | busybox tail -n 1");
    let answer = try_run("kubectl", &["exec", pod, "-n", &scene.name, "--", "busybox", "sh", "-c", &script], "")?;
    let answer = answer.trim().to_owned();
    check(!answer.is_empty(), "no answer").map(|()| answer)
}

fn await_answer(scene: &Scene, pod: &str, service: &str, expected: &str) {
    eventually(&format!("{pod} gets an answer from {service}"), || {
        let answer = fetch(scene, pod, (service, 80))?;
        check(answer == expected, answer)
    });
}

/// Whether an address answers echo requests of a pod, and whether it accepts connections to the
/// port of kubelet.
fn reach(scene: &Scene, pod: &str, address: &str) -> (bool, bool) {
    let ping = if address.contains(':') { "ping6" } else { "ping" };
    let answers = in_pod(scene, pod, &format!("busybox {ping} -c 2 -i 0.2 -W 1 {address}; true"));
    let script = format!("busybox nc -w 1 {address} {KUBELET} </dev/null && echo open; true");
    let connection = in_pod(scene, pod, &script);
    (answers.contains("bytes from") || answers.contains(" 2 packets received"), connection.contains("open"))
}

/// Nothing of the node answers a pod, at any address, although the pod has routes to it.
fn the_node_is_out_of_reach(scene: &Scene, pod: &str, number: u8) {
    let (four, six) = (format!("10.63.{number}.1"), format!("fd00:63:{number}::1"));
    in_pod(scene, pod, &format!("busybox ip route add default via {four}"));
    for address in [&four, &six, NODE_ADDRESS, API_SERVER] {
        assert_eq!(reach(scene, pod, address), (false, false), "{address}");
    }
}

fn probes_services_and_nothing_else(scene: &Scene, engine: &str, number: u8) {
    let (name, client) = (format!("only-{number}"), format!("client-{number}"));
    scene.network(&name, &network(number, engine));
    // Kubelet's probe makes it ready.
    start(scene, &server(scene, &name, &only(scene, &name)));
    let address = ip_of(scene, &name);
    assert!(address.starts_with(&format!("10.63.{number}.")), "{address}");
    let mut other = sleeping_pod(scene, &client, "");
    other["metadata"]["annotations"] = json!({});
    start(scene, &other);

    let _proxy = KubeProxy::start(NODE);
    await_answer(scene, &client, &service(scene, &name), &name);
    let direct = fetch(scene, &client, (&address, PORT));
    assert!(direct.is_err(), "the node routes what no Service has translated: {direct:?}");
    assert_eq!(reach(scene, &client, NODE_ADDRESS), (true, true), "a pod of the cluster network reaches the node");
    the_node_is_out_of_reach(scene, &name, number);
    on_node(NODE, &["busybox", "ping", "-c", "2", "-W", "2", &address]);
    let addresses = in_pod(scene, &name, "busybox ip -6 addr show dev eth0");
    let six = addresses.split_whitespace().find(|word| word.starts_with("fd00:63:")).unwrap();
    on_node(NODE, &["busybox", "ping6", "-c", "2", "-W", "2", six.split('/').next().unwrap()]);
    scene.delete_pods([name.as_str(), client.as_str()]);
}

#[test]
fn kubelet_and_services_reach_a_pod_whose_only_network_is_of_open_vswitch() {
    let scene = Scene::new("only-ovs");
    probes_services_and_nothing_else(&scene, "OVS", 1);
    // The node's device goes with the network, and the rules with the last device.
    kubectl(&["delete", "usn", "only-1", "--wait=true"]);
    eventually("nothing is left on the node", || {
        let left = on_node(
            NODE,
            &["sh", "-c", "ip -o link show | grep -E 'us[ab]-'; nft list tables | grep node-access; true"],
        );
        check(left.is_empty(), left)
    });
}

#[test]
fn kubelet_and_services_reach_a_pod_whose_only_network_is_of_vpp() {
    if vpp::moves_packets("probes and Services over VPP") {
        probes_services_and_nothing_else(&Scene::new("only-vpp"), "VPP", 2);
    }
}

/// Kubelet reaches a pod again after all that it depends on was restarted.
#[test]
fn a_network_across_nodes_has_an_address_of_each_node_and_stays_over_restarts() {
    let scene = Scene::new("only-overlay");
    let mut spec = network(3, "OVS");
    spec["topology"] = json!({"type": "Overlay"});
    spec["nodeAccess"]["addresses"] = json!(["10.63.3.201/24"]);
    spec["ipam"] = json!({"type": "host-local", "ranges": [[{"subnet": "10.63.3.0/24"}]], "nodePrefix": {"ipv4": 27}});
    scene.network("only-3", &spec);
    start(&scene, &server(&scene, "only-3", &only(&scene, "only-3")));
    let address = ip_of(&scene, "only-3");
    for node in [NODE, OTHER_NODE] {
        let number = get(&["usns", node]).unwrap()["spec"]["number"].as_u64().unwrap_or_default();
        let addresses = on_node(node, &["ip", "-o", "-4", "addr", "show"]);
        assert!(addresses.contains(&format!(" 10.63.3.{}/24 ", 201 + number)), "{addresses}");
        on_node(node, &["busybox", "ping", "-c", "2", "-W", "5", &address]);
    }
    let _proxy = KubeProxy::start(OTHER_NODE);
    let mut client = sleeping_pod(&scene, "client-3", "");
    client["spec"]["nodeName"] = json!(OTHER_NODE);
    client["metadata"]["annotations"] = json!({});
    start(&scene, &client);
    await_answer(&scene, "client-3", &service(&scene, "only-3"), "only-3");

    let restarts = || {
        get(&["pod", "only-3", "-n", &scene.name]).unwrap()["status"]["containerStatuses"][0]["restartCount"].clone()
    };
    let before = restarts();
    on_node(
        NODE,
        &[
            "sh",
            "-c",
            "nft delete table inet usnet-node-access; ip link del $(ip -o link show | grep -o 'usa-[0-9a-f]*' | head -n 1)",
        ],
    );
    eventually("the device and the rules are there again", || {
        try_run("on-node", &[NODE, "nft", "list", "table", "inet", "usnet-node-access"], "")?;
        try_run("on-node", &[NODE, "busybox", "ping", "-c", "1", "-W", "1", &address], "").map(drop)
    });
    wait_running(&scene, "only-3");
    assert_eq!(restarts(), before, "kubelet has restarted it");
    assert!(vsctl(NODE, &["list-ports", "br-only-3"]).contains("usb-"));
}

/// With the plugin portmap in the definition, host ports reach the interface.
#[test]
fn a_host_port_reaches_an_interface_of_the_pods_kernel() {
    let scene = Scene::new("host-ports");
    scene.network("only-4", &network(4, "OVS"));
    let plugins = json!([{"type": "userspace", "network": "only-4"}, {"type": "portmap", "capabilities": {"portMappings": true}, "backend": "nftables"}]);
    let definition = |name: &str, plugins: &Value| {
        apply(&json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": name, "namespace": scene.name},
            "spec": {"config": json!({"cniVersion": "1.0.0", "name": name, "plugins": plugins}).to_string()},
        }));
    };
    definition("ports", &plugins);
    let mappings = json!([{"hostPort": 18080, "containerPort": PORT, "protocol": "tcp"}]);
    let requested = |name: &str| {
        let networks = json!([{"name": name, "portMappings": mappings}]).to_string();
        json!({"k8s.v1.cni.cncf.io/networks": networks})
    };
    start(&scene, &server(&scene, "ports", &requested("ports")));
    let host_port = format!("http://{NODE_ADDRESS}:18080/");
    eventually("another node reaches the host port", || {
        let answer = try_run("on-node", &[OTHER_NODE, "curl", "-s", "-m", "2", &host_port], "")?;
        check(answer.trim() == "ports", answer)
    });
    scene.delete_pod("ports");
    let refused = try_run("on-node", &[OTHER_NODE, "curl", "-s", "-m", "2", &host_port], "");
    assert!(refused.is_err(), "{refused:?}");

    // The plugin itself has none, and says what to do.
    definition("refused", &json!([{"type": "userspace", "network": "only-4", "capabilities": {"portMappings": true}}]));
    apply(&server(&scene, "refused", &requested("refused")));
    scene.await_refusal("refused", &["runtimeConfig.portMappings", "portmap", "spec.nodeAccess"]);
}

#[test]
fn a_subnet_that_the_node_has_elsewhere_is_refused_with_its_device() {
    let scene = Scene::new("only-refused");
    let mut spec = network(5, "OVS");
    spec["nodeAccess"]["addresses"] = json!(["10.200.0.200/26"]);
    scene.apply_network("only-5", &spec);
    let message = await_condition("only-5", "Ready", "False", "SubnetRouted");
    assert!(message.contains("10.200.0.0/24"), "{message}");
    let left = on_node(NODE, &["sh", "-c", "ip -o addr show | grep 10.200.0.200; true"]);
    assert_eq!(left, "");
}
