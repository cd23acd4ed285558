//! Policies for pods by labels, and with pods by labels as peers: of two nodes, over both families,
//! while labels of pods and namespaces change, and while the controller and an agent are restarted.

use super::connections::{ALLOWED, Host, OTHER, Server, Stream, UDP, both_families, reached};
use super::flood::{self, Flood};
use crate::support::cluster::{apply, check, eventually, kubectl, timeout};
use crate::support::kubectl_usnet::ask;
use crate::support::pods::{NODE, pod_without_volume, start};
use crate::support::scene::{Scene, agent_pod, wait_ready};
use serde_json::{Value, json};
use std::time::Instant;

const NETWORK: &str = "labels";
/// The namespace of the servers.
const OF_SERVERS: &str = "labels-db";

const SERVER: Host = Host { name: "server", number: 10 };
const CLIENT: Host = Host { name: "client", number: 11 };
/// On another node.
const STRANGER: Host = Host { name: "stranger", number: 12 };
const NODE_OF_STRANGER: &str = "node-b";
/// A server that starts later.
const LATE: Host = Host { name: "late", number: 13 };

fn spec() -> Value {
    let clients = [CLIENT, STRANGER].map(|host| host.attachment(NETWORK));
    let servers = [SERVER, LATE].map(|host| host.attachment(OF_SERVERS));
    let namespaces = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": [NETWORK, OF_SERVERS]});
    json!({
        "port": {"type": "Veth", "antiSpoofing": "Address"}, "policies": "Enabled", "topology": {"type": "Overlay"},
        "namespaceSelector": {"matchExpressions": [namespaces]},
        "attachments": clients.into_iter().chain(servers).collect::<Vec<_>>(),
    })
}

/// Pods with `app: db` may be reached at one port by these peers.
fn policy(peers: &Value) -> Value {
    let rule = json!({"from": peers, "ports": [{"protocol": "TCP", "port": ALLOWED}]});
    let annotations = json!({"k8s.v1.cni.cncf.io/policy-for": NETWORK});
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy",
        "metadata": {"name": "database", "namespace": OF_SERVERS, "annotations": annotations},
        "spec": {"podSelector": {"matchLabels": {"app": "db"}}, "policyTypes": ["Ingress"], "ingress": [rule]},
    })
}

/// Pods with `role: client` of the namespace of clients.
fn clients() -> Value {
    json!([{
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NETWORK}},
        "podSelector": {"matchExpressions": [{"key": "role", "operator": "In", "values": ["client"]}]},
    }])
}

fn start_pod(scene: &Scene, host: Host, node: &str, labels: &Value) {
    let mut pod = pod_without_volume(scene, host.name, NETWORK);
    pod["metadata"]["labels"] = labels.clone();
    pod["spec"]["nodeName"] = json!(node);
    start(scene, &pod);
}

fn label(namespace: &str, host: Host, label: &str) {
    kubectl(&["label", "pod", "-n", namespace, host.name, label, "--overwrite"]);
}

struct Pods {
    // Its pods end before the network, which the other scene has.
    servers: Scene,
    clients: Scene,
    server: Server,
}

impl Pods {
    fn start() -> Self {
        let (clients, servers) = (Scene::new(NETWORK), Scene::new(OF_SERVERS));
        clients.network(NETWORK, &spec());
        start_pod(&clients, CLIENT, NODE, &json!({"role": "client"}));
        start_pod(&clients, STRANGER, NODE_OF_STRANGER, &json!({"role": "stranger"}));
        start_pod(&servers, SERVER, NODE, &json!({"app": "db"}));
        let server = Server::start(&servers, SERVER);
        Self { servers, clients, server }
    }

    /// Client and stranger reach these ports of the server, once that has come about.
    #[track_caller]
    fn reach(&self, when: &str, client: &[(&str, u16)], stranger: &[(&str, u16)]) {
        let expected = [both_families(client), both_families(stranger)];
        let started = Instant::now();
        eventually(&format!("{when}: {expected:?}"), || {
            let found = reached(&self.clients, &[CLIENT, STRANGER], &self.server);
            check(found == expected, format!("{found:?}\n{}", known()))
        });
        println!("{when}: as expected within {:.1} s", started.elapsed().as_secs_f64());
    }
}

fn known() -> String {
    kubectl(&["get", "userspacepodslices", "-o", "yaml"])
}

const ALL: [(&str, u16); 3] = [("TCP", ALLOWED), ("TCP", OTHER), ("UDP", UDP)];
const ONE: [(&str, u16); 1] = [("TCP", ALLOWED)];

#[test]
fn pods_reach_what_policies_by_labels_allow_and_nothing_else_while_labels_change() {
    let pods = Pods::start();
    pods.reach("without a policy", &ALL, &ALL);
    apply(&policy(&clients()));
    pods.reach("a policy", &ONE, &[]);
    a_trace_names_the_policy();
    let mut stream = Stream::open(&pods.clients, CLIENT, &pods.server);
    assert!(stream.passes(), "a connection that is allowed");

    label(NETWORK, STRANGER, "role=client");
    pods.reach("the stranger is a client", &ONE, &ONE);
    label(NETWORK, CLIENT, "role=stranger");
    pods.reach("the client is none any more", &[], &ONE);
    assert!(!stream.passes(), "a connection goes on that the labels do not allow any more");
    label(OF_SERVERS, SERVER, "app=web");
    pods.reach("the policy is not for the server any more", &ALL, &ALL);
    label(OF_SERVERS, SERVER, "app=db");
    pods.reach("the policy is for the server again", &[], &ONE);
    namespaces_are_relabelled(&pods);

    label(NETWORK, CLIENT, "role=client");
    label(NETWORK, STRANGER, "role=stranger");
    apply(&policy(&clients()));
    pods.reach("as at first", &ONE, &[]);
    nothing_passes_while_programs_are_restarted(&pods);
    a_new_server_is_closed_from_its_start(&pods);
    a_pod_with_the_address_of_a_client_is_none(&pods);
    pods.servers.delete_pods([SERVER.name, LATE.name]);
    pods.clients.delete_pods([CLIENT.name, STRANGER.name]);
    eventually("nothing is known of pods that are gone", || {
        let slices =
            kubectl(&["get", "userspacepodslices", "-l", &format!("usnet.dev/network={NETWORK}"), "-o", "name"]);
        check(slices.trim().is_empty(), slices)
    });
}

fn a_trace_names_the_policy() {
    let trace = |client: Host| {
        let (from, to) = (format!("{NETWORK}/{}", client.name), format!("{OF_SERVERS}/{}", SERVER.name));
        let (_, report) = ask(&["trace", &from, &to, &format!("tcp/{ALLOWED}"), "--interval", "0"]);
        report
    };
    let report = trace(CLIENT);
    let allows = format!("policy {OF_SERVERS}/database allows tcp/{ALLOWED} from 10.9.0.11");
    assert!(report["steps"].to_string().contains(&allows), "{report}");
    let report = trace(STRANGER);
    assert_eq!(report["conclusion"]["cause"], "NotAllowed", "{report}");
    let (_, report) = ask(&["explain", "pod", &format!("{OF_SERVERS}/{}", SERVER.name)]);
    assert!(
        report.to_string().contains(&format!("may get the connections that {OF_SERVERS}/database allow")),
        "{report}"
    );
}

/// Peers are all pods of namespaces with a label.
fn namespaces_are_relabelled(pods: &Pods) {
    apply(&policy(&json!([{"namespaceSelector": {"matchLabels": {"team": "front"}}}])));
    pods.reach("no namespace has the label", &[], &[]);
    kubectl(&["label", "namespace", NETWORK, "team=front"]);
    pods.reach("the namespace of the clients has the label", &ONE, &ONE);
    kubectl(&["label", "namespace", NETWORK, "team-"]);
    pods.reach("it has it no more", &[], &[]);
}

fn nothing_passes_while_programs_are_restarted(pods: &Pods) {
    let flood = Flood::start(&pods.clients, STRANGER, SERVER);
    let mut allowed = Stream::open(&pods.clients, CLIENT, &pods.server);
    kubectl(&["delete", "pod", "-n", "usnet-system", "-l", "app.kubernetes.io/component=policies", timeout()]);
    pods.reach("the controller is restarted", &ONE, &[]);
    kubectl(&["delete", "pod", "-n", "usnet-system", &agent_pod(NODE), timeout()]);
    assert!(allowed.passes(), "a connection that is allowed, without an agent");
    wait_ready(NETWORK);
    pods.reach("the agent is restarted", &ONE, &[]);
    assert!(allowed.passes(), "a connection that is allowed, with another agent");
    let sent = flood.end();
    assert!(!pods.server.has_got(flood::TEXT), "packets of the stranger arrived");
    println!("{sent} packets were sent while programs were restarted, and none arrived");
}

/// The stranger sends to the addresses of a server from before it is there.
fn a_new_server_is_closed_from_its_start(pods: &Pods) {
    let flood = Flood::start(&pods.clients, STRANGER, LATE);
    start_pod(&pods.servers, LATE, NODE, &json!({"app": "db"}));
    let since = Instant::now();
    let late = Server::start(&pods.servers, LATE);
    eventually("the client reaches the new server", || {
        let found = reached(&pods.clients, &[CLIENT], &late);
        check(found == [both_families(&ONE)], format!("{found:?}\n{}", known()))
    });
    println!("a new server is reached {:.1} s after it runs", since.elapsed().as_secs_f64());
    let sent = flood.end();
    assert_eq!(flood::unexpected(&pods.servers, LATE), 0, "packets of the stranger arrived in the new server");
    assert!(!late.has_got(flood::TEXT), "packets of the stranger arrived in the new server");
    println!("{sent} packets were sent to a server that started, and none arrived");
}

/// The same name and the same addresses on the other node, without the label, and back.
fn a_pod_with_the_address_of_a_client_is_none(pods: &Pods) {
    pods.clients.delete_pods([CLIENT.name]);
    start_pod(&pods.clients, CLIENT, NODE_OF_STRANGER, &json!({"role": "stranger"}));
    let flood = Flood::start(&pods.clients, CLIENT, SERVER);
    pods.reach("a pod with the address of the client", &[], &[]);
    flood.end();
    assert!(!pods.server.has_got(flood::TEXT), "packets of a pod arrived that has the address of the client");
    label(NETWORK, CLIENT, "role=client");
    pods.reach("a client with the address of the client", &ONE, &[]);
}
