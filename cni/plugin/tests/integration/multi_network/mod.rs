//! Networks selected by a pod's annotation, without Multus: usnet is chained after the plugin that
//! created `eth0`, on real engines.

use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, ip, port_types, record_in};
use serde_json::{Value, json};
use std::fs;
use usnet_dataplane::sandboxes::{Sandbox, Sandboxes};

mod claims;
mod killed;
mod runtime;

on_each_engine! {
    every_network_of_the_annotation_is_attached_and_del_needs_no_annotation,
    a_pod_without_the_annotation_gets_the_previous_result,
    if_one_network_fails_none_is_attached_and_it_is_named,
    a_failure_rolls_back_the_networks_before_it,
    invalid_annotations_are_rejected_before_any_change,
    twenty_networks_of_one_pod,
    gc_keeps_what_belongs_to_a_call_that_the_runtime_lists,
    a_sandbox_is_known_until_del_or_gc,
    check_finds_the_one_interface_that_differs,
    status_does_not_depend_on_any_network,
    requests_of_an_element_apply_to_it_alone,
    the_default_route_goes_over_the_interface_that_requests_it,
}

const ADDRESS: &str = "10.244.0.7/24";

/// The result of the plugin that creates `eth0`.
fn before() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "interfaces": [{"name": "vethx", "mac": "0a:00:00:00:00:01"}, {"name": "eth0", "mac": "0a:00:00:00:00:02", "sandbox": "/run/netns/p"}],
        "ips": [{"address": ADDRESS, "gateway": "10.244.0.1", "interface": 1}],
        "routes": [{"dst": "0.0.0.0/0", "gw": "10.244.0.1"}, {"dst": "10.250.0.0/16"}],
        "dns": {"nameservers": ["10.96.0.10"]},
    })
}

/// The configuration in a call of containerd, with this annotation of the pod.
fn listing(networks: &(impl ToString + ?Sized)) -> Value {
    with_annotations(
        &json!({"k8s.v1.cni.cncf.io/networks": networks.to_string(), "kubernetes.io/config.source": "api"}),
    )
}

fn with_annotations(annotations: &Value) -> Value {
    json!({
        "cniVersion": "1.1.0", "name": "pods", "type": "userspace", "networks": "FromPodAnnotations",
        "capabilities": {"io.kubernetes.cri.pod-annotations": true},
        "runtimeConfig": {"io.kubernetes.cri.pod-annotations": annotations}, "prevResult": before(),
    })
}

/// Programs networks in addition to the one that every node has.
fn program(node: &TestNode, networks: &[&str]) {
    for network in networks {
        node.program_network(network, None);
    }
}

fn add(node: &TestNode, pod: &Pod, configuration: &Value) -> crate::support::output::Output {
    node.call("ADD", pod, "eth0", configuration)
}

#[track_caller]
fn assert_clean(node: &TestNode, networks: &[&str]) {
    for network in networks {
        assert_eq!(node.ports(network), Vec::<String>::new());
    }
    node.assert_clean();
}

fn every_network_of_the_annotation_is_attached_and_del_needs_no_annotation(node: &mut TestNode) {
    program(node, &["green"]);
    let pod = node.pod("p");
    let wanted = listing(
        &json!([{"name": NETWORK, "ips": ["10.56.0.1/24", "fd00:56::1/64"]}, {"name": "green", "interface": "data", "ips": ["10.57.0.1/24"]}]),
    );
    let result = add(node, &pod, &wanted).result();
    let names: Vec<_> =
        result["interfaces"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["vethx", "eth0", "net1", "data"]);
    let ips: Vec<_> = result["ips"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ip| (ip["address"].as_str().unwrap(), ip["interface"].as_u64().unwrap()))
        .collect();
    assert_eq!(ips, [(ADDRESS, 1), ("10.56.0.1/24", 2), ("fd00:56::1/64", 2), ("10.57.0.1/24", 3)]);
    assert_eq!((&result["dns"], &result["routes"]), (&before()["dns"], &before()["routes"]));
    assert_eq!((node.ports(NETWORK).len(), node.ports("green").len()), (1, 1));
    assert_eq!(pod.description("net1")["network"], NETWORK);
    assert_eq!(pod.description("data")["network"], "green");

    let mut again = wanted.clone();
    again["prevResult"] = result;
    node.call("CHECK", &pod, "eth0", &again).assert_done();
    assert_eq!(add(node, &pod, &wanted).result(), again["prevResult"]);
    let refused = listing(
        &json!([{"name": NETWORK, "ips": ["10.56.0.1/24", "fd00:56::1/64"]}, {"name": "green", "interface": "data", "ips": ["10.57.0.2/24"]}]),
    );
    assert!(add(node, &pod, &refused).message(103).contains("addresses"));
    assert_eq!(node.records().len(), 2, "an ADD that is refused takes nothing from what is there");

    // A configuration of another name on this node is not affected.
    let other = json!({"cniVersion": "1.1.0", "name": "others", "type": "userspace", "networks": "FromPodAnnotations"});
    node.call("DEL", &pod, "eth0", &other).assert_done();
    assert_eq!(node.records().len(), 2);
    let bare = json!({"cniVersion": "1.1.0", "name": "pods", "type": "userspace", "networks": "FromPodAnnotations"});
    node.call_in("DEL", &pod, "eth0", &bare, &[("CNI_NETNS", "")]).assert_done();
    assert_clean(node, &["green"]);
    node.call("DEL", &pod, "eth0", &bare).assert_done();
}

fn a_pod_without_the_annotation_gets_the_previous_result(node: &mut TestNode) {
    let pod = node.pod("p");
    for nothing in [json!({"k8s.v1.cni.cncf.io/networks": "[]"}), json!({}), json!(null)] {
        assert_eq!(add(node, &pod, &with_annotations(&nothing)).result(), before());
    }
    // The result is in the requested version.
    let mut earlier_version = with_annotations(&json!({}));
    earlier_version["cniVersion"] = json!("0.4.0");
    assert_eq!(add(node, &pod, &earlier_version).result()["cniVersion"], "0.4.0");
    node.assert_clean();
}

fn if_one_network_fails_none_is_attached_and_it_is_named(node: &mut TestNode) {
    let mut closed = node.program_network("closed", None);
    closed.namespaces = ["web"].into_iter().collect();
    node.publish(closed);
    let pod = node.pod("p");
    for (list, code, parts) in [
        ("blue,nowhere", 11, ["element 2 (nowhere as net2)", "not known on this node"]),
        ("blue,web/closed@c", 100, ["element 2 (closed as c)", "namespace \"db\" is not selected"]),
    ] {
        let message = add(node, &pod, &listing(list)).message(code);
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert_clean(node, &["closed"]);
    }
}

fn a_failure_rolls_back_the_networks_before_it(node: &mut TestNode) {
    program(node, &["green"]);
    let (first, second) = (node.pod("first"), node.pod("second"));
    let wanted = |address: &str| listing(&json!([{"name": NETWORK}, {"name": "green", "ips": [address]}]));
    add(node, &first, &wanted("10.57.0.1/24")).result();
    // The conflict with another pod's address is detected only when the first network is attached.
    let message = add(node, &second, &wanted("10.57.0.1/24")).message(7);
    assert!(message.contains("element 2 (green as net2)") && message.contains("db/first"), "{message}");
    assert_eq!((node.ports(NETWORK).len(), node.records().len()), (1, 2));
    assert_eq!(fs::read_dir(&second.volume).unwrap().count(), 0, "nothing is left in its volume");
    add(node, &second, &wanted("10.57.0.2/24")).result();
    // The pod selects one network twice, with the same address.
    let twice = listing(&json!([{"name": NETWORK, "ips": ["10.1.0.1/8"]}, {"name": NETWORK, "ips": ["10.1.0.1/8"]}]));
    let third = node.pod("third");
    assert!(add(node, &third, &twice).message(7).contains("net1 of pod db/third"));
    for pod in [first, second, third] {
        node.call("DEL", &pod, "eth0", &wanted("")).assert_done();
    }
    assert_clean(node, &["green"]);
}

fn invalid_annotations_are_rejected_before_any_change(node: &mut TestNode) {
    let pod = node.pod("p");
    let long = "x".repeat(300);
    for list in [
        "{",
        "../../etc/passwd",
        "blue,blue@net1",
        "blue@eth0",
        "blue@vethx/..",
        "blue@lo",
        &long,
        "[{\"name\":\"blue\",\"mac\":7}]",
    ] {
        let error = add(node, &pod, &listing(list)).error();
        assert_eq!(error["code"], 7, "{list}: {error}");
        assert!(error["msg"].as_str().unwrap().contains("k8s.v1.cni.cncf.io/networks"), "{list}: {error}");
    }
    for (key, value, code) in
        [("networks", json!("FromSomewhere"), 7), ("network", json!("blue"), 2), ("runtimeConfig", json!({}), 7)]
    {
        let mut wrong = listing("blue");
        wrong[key] = value;
        assert_eq!(add(node, &pod, &wrong).code(), code);
        // Such a configuration attaches nothing, and must not block the deletion of the pod.
        node.call("DEL", &pod, "eth0", &wrong).assert_done();
    }
    let mappings = listing(&json!([{"name": NETWORK, "portMappings": [{"hostPort": 8080, "containerPort": 80}]}]));
    assert!(add(node, &pod, &mappings).message(2).contains("8080"));
    node.assert_clean();
}

fn twenty_networks_of_one_pod(node: &mut TestNode) {
    program(node, &["green"]);
    let pod = node.pod("p");
    let list = ["blue", "green"].repeat(10).join(",");
    let result = add(node, &pod, &listing(&list)).result();
    assert_eq!(result["interfaces"].as_array().unwrap().len(), 22);
    assert_eq!(result["interfaces"][21]["name"], "net20");
    assert_eq!((node.ports(NETWORK).len(), node.ports("green").len()), (10, 10));
    node.call("DEL", &pod, "eth0", &listing(&list)).assert_done();
    assert_clean(node, &["green"]);
}

fn gc_keeps_what_belongs_to_a_call_that_the_runtime_lists(node: &mut TestNode) {
    let (kept, stale, by_multus) = (node.pod("kept"), node.pod("stale"), node.pod("by-multus"));
    add(node, &kept, &listing("blue,blue")).result();
    add(node, &stale, &listing("blue,blue")).result();
    node.add(&by_multus, "net1").result();
    let mut garbage = listing("");
    garbage["cni.dev/valid-attachments"] = json!([{"containerID": kept.container, "ifname": "eth0"}]);
    node.call("GC", &kept, "eth0", &garbage).assert_done();
    let left: Vec<_> =
        node.records().iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(!left.iter().any(|name| name.starts_with(&stale.container)), "{left:?}");
    garbage["cni.dev/valid-attachments"] = json!([]);
    node.call("GC", &kept, "eth0", &garbage).assert_done();
    assert_eq!(node.records().len(), 1);
    node.del(&by_multus, "net1").assert_done();
    node.assert_clean();
}

/// Interfaces that are attached while the pod runs need the sandbox.
fn a_sandbox_is_known_until_del_or_gc(node: &mut TestNode) {
    let (pod, lost) = (node.pod("p"), node.pod("lost"));
    let sandboxes = Sandboxes::new(&node.paths);
    let container = |pod: &Pod| sandboxes.read(&pod.uid.parse().unwrap()).unwrap().map(|found| found.container);
    assert_eq!(add(node, &pod, &listing("")).result(), before());
    assert_eq!(container(&pod).unwrap().as_str(), pod.container);
    // The DEL of an earlier sandbox may come late.
    node.call("DEL", &pod.restarted(), "eth0", &listing("")).assert_done();
    assert_eq!(container(&pod).unwrap().as_str(), pod.container);

    // The runtime calls no DEL, and the namespace is gone.
    let network_namespace = node.paths.run.join("gone");
    let gone = Sandbox { container: lost.container.parse().unwrap(), network_namespace };
    sandboxes.write(&lost.uid.parse().unwrap(), gone).unwrap();
    node.call("GC", &pod, "eth0", &listing("")).assert_done();
    let files = || fs::read_dir(node.paths.sandboxes()).unwrap().count();
    assert_eq!((files(), container(&pod).is_some()), (1, true));
    node.call("DEL", &pod, "eth0", &listing("")).assert_done();
    assert_eq!(files(), 0);
    node.assert_clean();
}

fn check_finds_the_one_interface_that_differs(node: &mut TestNode) {
    let pod = node.pod("p");
    let mut after = listing("blue,blue");
    after["prevResult"] = add(node, &pod, &after).result();
    node.call("CHECK", &pod, "eth0", &after).assert_done();
    // The annotation of a running pod may be edited.
    after["runtimeConfig"]["io.kubernetes.cri.pod-annotations"]["k8s.v1.cni.cncf.io/networks"] =
        json!("blue,blue,green");
    node.call("CHECK", &pod, "eth0", &after).assert_done();
    fs::remove_file(pod.volume.join("net2.json")).unwrap();
    let message = node.call("CHECK", &pod, "eth0", &after).message(106);
    assert!(message.contains("interface net2") && message.contains("description"), "{message}");
    node.del(&pod, "net2").assert_done();
    let message = node.call("CHECK", &pod, "eth0", &after).message(106);
    assert!(message.contains("interface net2") && message.contains("no record"), "{message}");
}

fn status_does_not_depend_on_any_network(node: &mut TestNode) {
    let pod = node.pod("p");
    node.engine.kill();
    node.call("STATUS", &pod, "eth0", &listing("")).assert_done();
    let message = add(node, &pod, &listing("blue")).message(11);
    assert!(message.contains("element 1 (blue as net1)"), "{message}");
    assert_eq!(add(node, &pod, &listing("")).result(), before(), "a pod that selects no network needs no engine");
}

fn requests_of_an_element_apply_to_it_alone(node: &mut TestNode) {
    let pod = node.pod("p");
    let first = json!({"name": NETWORK, "mac": "02:00:00:00:00:42", "bandwidth": {"ingressRate": 2_000_000}, "cni-args": {"ips": ["10.9.0.1/24"]}});
    let configuration = listing(&json!([first, {"name": NETWORK}]));
    // CRI-O passes requests for eth0.
    let arguments = format!("{};IP=10.244.0.7;MAC=0a:00:00:00:00:02", pod.arguments());
    let result = node.call_in("ADD", &pod, "eth0", &configuration, &[("CNI_ARGS", &arguments)]).result();
    assert_eq!(result["interfaces"][2]["mac"], "02:00:00:00:00:42");
    assert_eq!(pod.description("net1")["ips"], json!([{"address": "10.9.0.1/24"}]));
    assert_eq!(pod.description("net2")["ips"], json!([]));
    assert_ne!(result["interfaces"][3]["mac"], "0a:00:00:00:00:02");
    let record = record_in(&node.records()[0]);
    assert_eq!(record["port"]["settings"]["rateLimit"], json!({"ingressKbps": 2000}));
}

fn the_default_route_goes_over_the_interface_that_requests_it(node: &mut TestNode) {
    node.program_network_with("veth", &port_types::veth(), None);
    create_eth0();
    let pod = node.pod("p");
    let socket = json!({"name": NETWORK, "ips": ["10.56.0.5/24"], "default-route": ["10.56.0.1"]});
    let device = json!({"name": "veth", "ips": ["fd00:57::5/64", "10.57.0.5/24"], "default-route": ["fd00:57::1"]});
    let result = add(node, &pod, &listing(&json!([socket, device]))).result();
    let of_version_6 = ip(&["-n", "p", "-6", "route", "show", "default"]);
    assert!(of_version_6.contains("fd00:57::1 dev net2") && of_version_6.lines().count() == 1, "{of_version_6}");
    let of_version_4 = ip(&["-n", "p", "route", "show", "default"]);
    assert!(
        of_version_4.contains("10.244.0.1 dev eth0") && of_version_4.lines().count() == 1,
        "a socket is not the kernel's: {of_version_4}"
    );
    let expected = json!([{"dst": "0.0.0.0/0", "gw": "10.56.0.1"}]);
    assert_eq!(pod.description("net1")["routes"], expected);
    let routes = result["routes"].as_array().unwrap();
    assert!(
        routes.contains(&json!({"dst": "::/0", "gw": "fd00:57::1"})) && routes.contains(&before()["routes"][0]),
        "{result}"
    );
    node.call("DEL", &pod, "eth0", &listing("")).assert_done();

    let both = json!([{"name": "veth", "ips": ["10.57.0.5/24"], "default-route": ["10.57.0.1"]}, {"name": "veth", "default-route": ["10.57.0.2"]}]);
    let message = add(node, &pod, &listing(&both)).message(7);
    assert!(message.contains("10.57.0.1 and 10.57.0.2"), "{message}");
    let one = listing(&json!([{"name": "veth", "ips": ["10.57.0.5/24"], "default-route": ["10.57.0.1"]}]));
    let result = add(node, &pod, &one).result();
    let of_version_4 = ip(&["-n", "p", "route", "show", "default"]);
    assert!(of_version_4.contains("10.57.0.1 dev net1") && of_version_4.lines().count() == 1, "{of_version_4}");
    assert_eq!(result["routes"], json!([before()["routes"][1], {"dst": "0.0.0.0/0", "gw": "10.57.0.1"}]));
    node.call("DEL", &pod, "eth0", &one).assert_done();
    assert_clean(node, &["veth"]);
}

/// Creates the interface that every pod has, with default routes.
pub(crate) fn create_eth0() {
    for command in [
        &["link", "add", "eth0", "type", "veth", "peer", "name", "outside"][..],
        &["link", "set", "outside", "up"],
        &["link", "set", "eth0", "up"],
        &["addr", "add", ADDRESS, "dev", "eth0"],
        &["-6", "addr", "add", "fd00:244::7/64", "dev", "eth0", "nodad"],
        &["route", "add", "default", "via", "10.244.0.1"],
        &["-6", "route", "add", "default", "via", "fd00:244::1"],
    ] {
        ip(&[&["-n", "p"], command].concat());
    }
}
