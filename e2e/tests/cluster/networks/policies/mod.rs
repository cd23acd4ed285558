//! Pods of two nodes on a network with policies: connections that their MultiNetworkPolicies allow
//! are made, and no packet of others arrives, also after what goes wrong.

mod connections;
mod flood;
mod labels;

use crate::support::cluster::{apply, check, eventually, kubectl, on_node, run, timeout};
use crate::support::kubectl_usnet::ask;
use crate::support::pods::{NODE, pod_without_volume, start};
use crate::support::scene::{Scene, agent_pod, wait_ready};
use connections::{ALLOWED, Host, OTHER, Server, Stream, UDP, both_families, reached};
use flood::Flood;
use serde_json::{Value, json};
use std::time::Instant;

const NETWORK: &str = "policies";
/// The namespace of the pods that the policies are for.
const OF_SERVERS: &str = "policies-db";

const SERVER: Host = Host { name: "server", number: 10 };
const CLIENT: Host = Host { name: "client", number: 11 };
/// On another node.
const STRANGER: Host = Host { name: "stranger", number: 12 };
const NODE_OF_STRANGER: &str = "node-b";
/// A pod of the same namespace as the server that starts later.
const LATE: Host = Host { name: "late", number: 13 };

fn spec(policies: &str) -> Value {
    let clients = [CLIENT, STRANGER].map(|host| host.attachment(NETWORK));
    let servers = [SERVER, LATE].map(|host| host.attachment(OF_SERVERS));
    let namespaces = json!({"key": "kubernetes.io/metadata.name", "operator": "In", "values": [NETWORK, OF_SERVERS]});
    json!({
        "port": {"type": "Veth", "antiSpoofing": "Address"}, "policies": policies, "topology": {"type": "Overlay"},
        "namespaceSelector": {"matchExpressions": [namespaces]},
        "attachments": clients.into_iter().chain(servers).collect::<Vec<_>>(),
    })
}

/// A policy for all pods of the server's namespace on the network.
fn policy(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy",
        "metadata": {"name": name, "namespace": OF_SERVERS, "annotations": {"k8s.v1.cni.cncf.io/policy-for": NETWORK}},
        "spec": spec,
    })
}

/// Connections from one pod to one port.
fn only_from(host: Host) -> Value {
    let block = |address: &std::net::IpAddr| {
        let length = if address.is_ipv4() { 32 } else { 128 };
        json!({"ipBlock": {"cidr": format!("{address}/{length}")}})
    };
    let from: Vec<Value> = host.addresses().iter().map(block).collect();
    let rule = json!({"from": from, "ports": [{"protocol": "TCP", "port": ALLOWED}]});
    json!({"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [rule]})
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
        clients.network(NETWORK, &spec("Enabled"));
        start(&clients, &pod_without_volume(&clients, CLIENT.name, NETWORK));
        let mut stranger = pod_without_volume(&clients, STRANGER.name, NETWORK);
        stranger["spec"]["nodeName"] = json!(NODE_OF_STRANGER);
        start(&clients, &stranger);
        start(&servers, &pod_without_volume(&servers, SERVER.name, NETWORK));
        let server = Server::start(&servers, SERVER);
        Self { servers, clients, server }
    }

    /// Client and stranger reach these ports of the server, once that has come about; and then
    /// still, and nothing else.
    #[track_caller]
    fn reach(&self, when: &str, client: &[(&str, u16)], stranger: &[(&str, u16)]) {
        let expected = [both_families(client), both_families(stranger)];
        let found = || reached(&self.clients, &[CLIENT, STRANGER], &self.server);
        let (started, mut attempts) = (Instant::now(), 0);
        eventually(&format!("{when}: {expected:?}"), || {
            let found = found();
            attempts += 1;
            if attempts == PRINTED_AFTER {
                print_flows();
            }
            check(found == expected, format!("{found:?}"))
        });
        println!("{when}: as expected within {:.1} s", started.elapsed().as_secs_f64());
    }

    /// Nothing of the stranger arrives, while the client reaches what it may.
    #[track_caller]
    fn are_restricted(&self, when: &str) {
        self.reach(when, &[("TCP", ALLOWED)], &[]);
    }
}

/// The attempt after which the state of the switch is printed.
const PRINTED_AFTER: usize = 8;

/// Prints what the switch of the server does: when something arrives that may not, or nothing that
/// may, nothing else tells why.
fn print_flows() {
    let bridge = format!("br-{NETWORK}");
    let commands: [&[&str]; 5] = [
        &["ovs-ofctl", "-O", "OpenFlow14", "dump-flows", &bridge],
        &["ovs-ofctl", "-O", "OpenFlow14", "dump-groups", &bridge],
        &["ovs-ofctl", "show", &bridge],
        &["ovs-appctl", "dpctl/dump-flows", "-m"],
        &["ovs-appctl", "dpctl/dump-conntrack"],
    ];
    for command in commands {
        println!("{}:\n{}", command.join(" "), on_node(NODE, command));
    }
}

const ALL: [(&str, u16); 3] = [("TCP", ALLOWED), ("TCP", OTHER), ("UDP", UDP)];

#[test]
fn pods_reach_what_policies_allow_and_nothing_else_whatever_happens() {
    let pods = Pods::start();
    pods.reach("without a policy", &ALL, &ALL);
    let mut stream = Stream::open(&pods.clients, STRANGER, &pods.server);
    assert!(stream.passes(), "a connection that is not restricted");

    apply(&policy("database", &only_from(CLIENT)));
    pods.are_restricted("a policy");
    assert!(!stream.passes(), "a connection goes on that the policy does not allow");
    a_trace_names_the_policy();
    let mut allowed = Stream::open(&pods.clients, CLIENT, &pods.server);

    a_new_pod_is_restricted_from_its_start(&pods);
    nothing_passes_while_the_switch_is_restarted(&pods);
    pods.are_restricted("a switch that was restarted");
    assert!(allowed.passes(), "a connection that is allowed, after a restart of the switch");

    let flood = Flood::start(&pods.clients, STRANGER, SERVER);
    kubectl(&["delete", "pod", "-n", "usnet-system", &agent_pod(NODE), timeout()]);
    assert!(allowed.passes(), "a connection that is allowed, without an agent");
    wait_ready(NETWORK);
    pods.are_restricted("an agent that was restarted");
    flood.end();
    assert!(!pods.server.has_got(flood::TEXT), "packets of the stranger arrived");

    apply(&policy("database", &only_from(STRANGER)));
    pods.reach("a policy for the other pod", &[], &[("TCP", ALLOWED)]);
    assert!(!allowed.passes(), "a connection goes on that the changed policy does not allow");
    apply(&policy("database", &only_from(CLIENT)));
    what_is_not_enforced_is_an_event(&pods);
    kubectl(&["delete", "multi-networkpolicies", "--all", "-n", OF_SERVERS]);
    pods.reach("no policy any more", &ALL, &ALL);

    apply(&policy("database", &only_from(CLIENT)));
    pods.are_restricted("a policy again");
    pods.clients.network(NETWORK, &spec("Disabled"));
    pods.reach("policies that are disabled", &ALL, &ALL);
    pods.clients.network(NETWORK, &spec("Enabled"));
    pods.are_restricted("policies that are enabled");
    pods.servers.delete_pods([SERVER.name, LATE.name]);
    pods.clients.delete_pods([CLIENT.name, STRANGER.name]);
}

fn a_trace_names_the_policy() {
    let trace = |client: Host| {
        let (from, to) = (format!("{NETWORK}/{}", client.name), format!("{OF_SERVERS}/{}", SERVER.name));
        let (_, report) = ask(&["trace", &from, &to, &format!("tcp/{ALLOWED}"), "--interval", "0"]);
        report
    };
    let report = trace(CLIENT);
    assert!(
        report["steps"].to_string().contains("policy policies-db/database allows tcp/5432 from 10.9.0.11"),
        "{report}"
    );
    let report = trace(STRANGER);
    assert_eq!(report["conclusion"]["cause"], "NotAllowed", "{report}");
}

/// The stranger sends to the addresses of a pod from before it is there.
fn a_new_pod_is_restricted_from_its_start(pods: &Pods) {
    let flood = Flood::start(&pods.clients, STRANGER, LATE);
    start(&pods.servers, &pod_without_volume(&pods.servers, LATE.name, NETWORK));
    let late = Server::start(&pods.servers, LATE);
    eventually("the client reaches the new pod", || {
        let found = reached(&pods.clients, &[CLIENT], &late);
        check(found == [both_families(&[("TCP", ALLOWED)])], format!("{found:?}"))
    });
    let sent = flood.end();
    assert_eq!(flood::unexpected(&pods.servers, LATE), 0, "packets of the stranger arrived in the new pod");
    assert!(!late.has_got(flood::TEXT), "packets of the stranger arrived in the new pod");
    println!("{sent} packets were sent to a pod that started, and none arrived");
}

fn nothing_passes_while_the_switch_is_restarted(pods: &Pods) {
    let flood = Flood::start(&pods.clients, STRANGER, SERVER);
    for _ in 0..3 {
        run("component", &["stop", "ovs-vswitchd", NODE]);
        run("component", &["start", "ovs-vswitchd", NODE]);
        pods.are_restricted("the switch is back");
    }
    let sent = flood.end();
    assert!(!pods.server.has_got(flood::TEXT), "packets of the stranger arrived");
    println!("{sent} packets were sent while the switch was restarted, and none arrived");
}

/// A rule with the name of a port allows nothing, and the user is told.
fn what_is_not_enforced_is_an_event(pods: &Pods) {
    let rule = json!({"ports": [{"port": "postgres"}]});
    apply(&policy("named", &json!({"podSelector": {}, "ingress": [rule]})));
    eventually("the event of the policy", || {
        let selector = "involvedObject.kind=MultiNetworkPolicy,involvedObject.name=named,reason=NotEnforced";
        let events = kubectl(&["get", "events", "-n", OF_SERVERS, "--field-selector", selector]);
        check(events.contains("spec.ingress[0].ports[0]") && events.contains("postgres"), events)
    });
    pods.are_restricted("a policy that allows nothing beside the other");
}
