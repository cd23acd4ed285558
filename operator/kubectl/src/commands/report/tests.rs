use super::content::{Content, Since, content};
use super::page;
use crate::commands::graph::testing::{large, small};
use crate::commands::history::{self, NodeChange};
use crate::commands::status::problems::Problem;
use crate::commands::top::{self, NodePort};
use crate::model::{Pod, Snapshot, Unread};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::time::Instant;
use usnet_crds::EngineKind;
use usnet_node_output::history::{Cause, Change, Outcome};
use usnet_node_output::ports::Port;
use usnet_planner::model::port_counters::{PortCounters, Traffic};

const EVIL: &str = "\"'><script src=\"http://evil\">alert(1)</script><img src=x onerror=alert(1)>";

/// The page of a cluster whose pods all have traffic, but for one.
pub(crate) fn example(snapshot: &Snapshot) -> Content {
    let ports = snapshot.pods.iter().enumerate().map(|(index, pod)| port(index as u64, pod)).collect();
    let failed = Outcome::Failed { message: "Open vSwitch refused it: no memory for 2048 descriptors".into() };
    let changes = vec![
        change(3010, "create port vhu1c7bbaa36bb of net1 of pod db/mysql-0", Outcome::Done),
        change(3300, "create port vhu3c7bbaa36bb of net1 of pod db/mysql-1", failed),
        change(3301, "create port vhu3c7bbaa36bb of net1 of pod db/mysql-1", Outcome::CompletedLater),
    ];
    let traffic = top::Report { interval_seconds: Some(5), ports, ..top::Report::default() };
    let history = history::Report { changes, not_read: Vec::new() };
    let server = "https://10.0.0.1:6443/".to_owned();
    content(snapshot, server, (traffic, history), Since(SignedDuration::from_hours(1)))
}

fn port(index: u64, pod: &Pod) -> NodePort {
    let packets = 14_880_952 / (index + 1);
    let receive = Traffic { packets: Some(packets), bytes: Some(packets * 64), dropped: Some(0), errors: None };
    let dropped = if index % 9 == 3 { Some(packets / 7) } else { Some(0) };
    let transmit = Traffic { dropped, ..receive };
    let is_connected = pod.name != "mysql-1";
    let connected = || PortCounters { connected: true, receive, transmit, ..PortCounters::default() };
    let port = Port {
        namespace: pod.namespace.clone(),
        pod: pod.name.clone(),
        interface: "net1".into(),
        network: "storage".into(),
        engine: EngineKind::OpenVswitch,
        port_type: "VhostUser".into(),
        mac: String::new(),
        counters: if is_connected { connected() } else { PortCounters::default() },
    };
    NodePort { node: pod.node.clone().unwrap_or_default(), port }
}

fn change(second: i64, operation: &str, outcome: Outcome) -> NodeChange {
    let change = Change {
        time: MicroTime(Timestamp::from_second(second).unwrap()),
        engine: Some(EngineKind::OpenVswitch),
        network: Some("storage".into()),
        attachment: None,
        operation: operation.into(),
        cause: Cause::PodAttached,
        generation: None,
        milliseconds: 12,
        outcome,
    };
    NodeChange { node: "node-b".into(), change }
}

/// Returns the attributes of all elements of a page that can load something.
fn loads(page: &str) -> Vec<String> {
    let tags = page.split('<').skip(1).filter_map(|part| part.split('>').next());
    let names = [" src", " href", " srcset", " action", " data=", " poster", " background", " on"];
    tags.filter(|tag| names.iter().any(|name| tag.to_lowercase().contains(name))).map(str::to_owned).collect()
}

/// Returns the page without the policy, the style and the script.
fn body(page: &str) -> String {
    let start = page.find("<body>").unwrap();
    let end = page.find("<script>").unwrap();
    page[start..end].to_owned()
}

#[test]
fn the_page_has_four_numbers_the_picture_traffic_and_changes() {
    let text = page(&example(&small()));
    for part in [
        "<b>3 <small>of 3</small></b><span>networks ready",
        "<b>4 <small>of 4</small></b><span>engines up",
        "<b>7 <small>of 8</small></b><span>interfaces with a connected program",
        "<b>1</b><span>problems, by cause",
        "<td class=\"kind bad-text\">not connected</td><td class=\"name\">network storage</td>",
        "<svg xmlns",
        "web/gateway-0",
        "data-v=\"14880952\">14.9M</td>",
        "no memory for 2048 descriptors",
        "https://10.0.0.1:6443/ · 1970-01-01 01:00:00 UTC",
    ] {
        assert!(text.contains(part), "no {part} in\n{}", body(&text));
    }
    assert!(!text.contains("NOT READ"));
}

#[test]
fn what_fails_for_one_reason_on_many_nodes_is_one_problem() {
    let mut content = example(&large(7));
    let problem = Problem {
        subject: "network blue".into(),
        nodes: ["a", "b", "c", "d"].map(str::to_owned).into(),
        reason: "MtuTooLarge".into(),
        message: "too large".into(),
        ..Problem::default()
    };
    content.status.needs_action = vec![problem];
    let text = page(&content);
    assert_eq!(text.matches("MtuTooLarge</td>").count(), 1);
    assert!(text.contains("4 nodes: a, b, c and 1 more"), "{}", body(&text));
}

#[test]
fn what_could_not_be_read_is_listed_once_for_each_reason() {
    let mut content = example(&small());
    let unread = |node| Unread { what: format!("the interfaces of node {node}"), why: format!("forbidden {EVIL}") };
    content.not_read = (0..200).map(unread).collect();
    content.traffic.ports.clear();
    let text = page(&content);
    assert!(text.contains("NOT READ") && text.contains("and 195 more: forbidden"), "{}", body(&text));
    assert!(text.contains("No interface was read."));
    assert!(loads(&body(&text)).is_empty(), "{:?}", loads(&body(&text)));
}

#[test]
fn hostile_values_are_text_and_nothing_is_loaded() {
    let mut content = example(&small());
    content.server = EVIL.to_owned();
    for problem in &mut content.status.not_connected {
        (problem.network, problem.message, problem.pod) = (EVIL.into(), EVIL.into(), EVIL.into());
    }
    for NodePort { node, port } in &mut content.traffic.ports {
        (*node, port.pod, port.network, port.interface) = (EVIL.into(), EVIL.into(), EVIL.into(), EVIL.into());
    }
    for NodeChange { node, change } in &mut content.history.changes {
        (*node, change.operation) = (EVIL.into(), EVIL.into());
        change.outcome = Outcome::Failed { message: EVIL.into() };
    }
    let text = page(&content);
    assert_eq!(text.matches("<script").count(), 1, "only that of the page");
    assert_eq!(text.matches("<style").count(), 1);
    assert!(loads(&body(&text)).is_empty(), "{:?}", loads(&body(&text)));
    assert!(!body(&text).contains("<img") && body(&text).contains("&lt;img"));
}

#[test]
fn the_page_of_a_large_cluster_has_a_bearable_size() {
    for every in [7, 1] {
        let content = example(&large(every));
        let start = Instant::now();
        let text = page(&content);
        println!(
            "200 nodes, 50 networks, {} ports: page of {} KB in {:.2} s",
            content.traffic.ports.len(),
            text.len() / 1000,
            start.elapsed().as_secs_f64()
        );
        assert!(text.len() < 8_000_000, "{}", text.len());
    }
}
