use super::report::{Program, report};
use super::text::text;
use crate::model::testing::{
    add, add_network, attached, network_object, network_report, pod_object, snapshot, state_object,
};
use crate::model::{Objects, Snapshot};
use serde_json::{Value, json};
use usnet_planner::model::attachment::Record;
use usnet_planner::testing::{network, record};

fn with_pods(report: &Value) -> Snapshot {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({})));
    add(&mut snapshot, &state_object("node-a", &json!([network_report("blue", "Programmed", report)])));
    add(&mut snapshot, &pod_object("dpdk-0", &attached()));
    add(&mut snapshot, &pod_object("dpdk-1", &json!({})));
    add(
        &mut snapshot,
        &pod_object("other", &json!({"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "green"}}})),
    );
    snapshot
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn pods_that_have_the_network_and_those_that_wait_for_it() {
    let snapshot = with_pods(&json!({"attachments": 2, "connected": 2, "pods": ["web/dpdk-0", "web/gone"]}));
    let report = report(&snapshot, "blue", None);
    assert!(!report.is_ok(), "a pod waits");
    assert_eq!(
        lines(&text(&report)),
        [
            "POD INTERFACE NODE PROGRAM ADDRESSES MAC SINCE",
            "web/dpdk-0 net1 node-a connected 10.56.217.4 02:00:00:00:00:01 10m",
            "not listed: 1 interface",
            "",
            "WAITING FOR THE NETWORK",
            "POD INTERFACE NODE STATE",
            "web/dpdk-1 net1 node-a ContainerCreating",
            "Why: kubectl usnet explain pod web/dpdk-1",
        ]
    );
}

#[test]
fn a_program_is_connected_if_the_agent_reports_it() {
    let program = |state: Value, port: Value| {
        let mut snapshot = with_pods(&state);
        add_network(&mut snapshot, &network_object("blue", &json!({"port": port})));
        report(&snapshot, "blue", None).interfaces[0].program
    };
    let degraded =
        |uid: &str| json!([{"pod": "web/x", "uid": uid, "interface": "net1", "reason": "NotConnected", "message": ""}]);
    let (one, none) = (json!({"attachments": 1, "connected": 1}), json!({"attachments": 1, "connected": 0}));
    assert_eq!(program(one, json!({})), Program::Connected);
    assert_eq!(program(none.clone(), json!({})), Program::Unknown, "the program may just have started");
    assert_eq!(program(none, json!({"type": "Veth"})), Program::NotNeeded);
    let mine = json!({"attachments": 1, "connected": 0, "degraded": degraded("uid of dpdk-0")});
    assert_eq!(program(mine, json!({})), Program::NotConnected);
    let of_another = json!({"attachments": 2, "connected": 1, "degraded": degraded("another")});
    assert_eq!(program(of_another, json!({})), Program::Connected);
}

#[test]
fn a_static_pod_is_known_to_its_node_by_another_uid() {
    let degraded =
        json!([{"pod": "web/x", "uid": "0123", "interface": "net1", "reason": "NotConnected", "message": ""}]);
    let mut snapshot = with_pods(&json!({"attachments": 1, "connected": 0, "degraded": degraded}));
    snapshot.pods.clear();
    let mut copy = attached();
    copy["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!("0123");
    add(&mut snapshot, &pod_object("dpdk-0", &copy));
    assert_eq!(report(&snapshot, "blue", None).interfaces[0].program, Program::NotConnected);
}

#[test]
fn without_the_right_to_read_pods_those_that_agents_name_are_listed() {
    let mut snapshot = with_pods(&json!({"attachments": 3, "connected": 3, "pods": ["db/mysql-0"]}));
    snapshot.pods.clear();
    snapshot.mark_unread(Objects::Pods, "pods", "you may not read pods");
    let text = lines(&text(&report(&snapshot, "blue", None)));
    assert_eq!(text[1..3], ["db/mysql-0 node-a unknown", "not listed: 2 interfaces"]);
    assert_eq!(text.last().map(String::as_str), Some("pods: you may not read pods"));
}

#[test]
fn agents_add_ports_sockets_and_pods_that_the_user_may_not_read() {
    let snapshot = with_pods(&json!({"attachments": 2, "connected": 2}));
    let mut records: [Record; 2] = [record("c1", &network("blue")), record("c2", &network("blue"))];
    (records[0].pod.namespace, records[0].pod.name) = ("web".to_owned(), "dpdk-0".to_owned());
    (records[1].pod.namespace, records[1].pod.name) = ("db".to_owned(), "mysql-0".to_owned());
    let records = records.map(|record| ("node-a".to_owned(), record));
    let report = report(&snapshot, "blue", Some(&records));
    let rows: Vec<_> =
        report.interfaces.iter().map(|it| (it.pod.as_str(), it.socket.as_deref(), it.port.is_some())).collect();
    assert_eq!(rows, [("db/mysql-0", Some("net1.sock"), true), ("web/dpdk-0", Some("net1.sock"), true)]);
    assert!(text(&report).starts_with("POD         INTERFACE  NODE    PROGRAM    ADDRESSES"), "{}", text(&report));
}
