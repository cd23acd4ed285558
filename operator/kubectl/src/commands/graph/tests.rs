use super::dot::dot;
use super::frames::frames;
use super::mermaid::mermaid;
use super::report::{Graph, graph};
use super::testing::{NETWORKS, NODES, large};
use super::text::{colored_text, text};
use crate::model::testing::{
    add, add_network, attached, network_object, network_report, pod_object, snapshot, state_object,
};
use serde_json::json;
use std::collections::BTreeMap;

fn example() -> Graph {
    let mut snapshot = snapshot();
    add_network(&mut snapshot, &network_object("blue", &json!({"port": {"vlan": {"mode": "Access", "tag": 100}}})));
    add_network(
        &mut snapshot,
        &network_object(
            "red",
            &json!({"topology": {"type": "Overlay", "overlay": {}}, "nodeSelector": {"matchLabels": {"rack": "z"}}}),
        ),
    );
    let degraded = json!([{"pod": "web/dpdk-0", "uid": "uid of dpdk-0", "interface": "net1", "reason": "NotConnected", "message": ""}]);
    let report = network_report("blue", "Programmed", &json!({"attachments": 3, "degraded": degraded}));
    add(&mut snapshot, &state_object("node-a", &json!([report])));
    let failed = network_report("blue", "Failed", &json!({"reason": "BridgeExists", "message": "bridge \"br-blue\""}));
    add(&mut snapshot, &state_object("node-b", &json!([failed])));
    add(&mut snapshot, &pod_object("dpdk-0", &attached()));
    graph(&snapshot, None)
}

#[test]
fn the_text_is_a_tree() {
    assert_eq!(
        text(&example()),
        "\
blue  (Open vSwitch br-blue, MTU 1500, VLAN 100; nodes are not connected)
├─ node-a Programmed
│  ├─ web/dpdk-0  net1  10.56.217.4  NOT CONNECTED
│  └─ 2 more interfaces
└─ node-b Failed: BridgeExists: bridge \"br-blue\"

red  (Open vSwitch br-red, MTU 1450; VXLAN between the nodes)
└─ on no node
"
    );
}

#[test]
fn graphviz_gets_a_quoted_graph_with_problems_in_red() {
    let text = dot(&example());
    for part in [
        "graph usnet {\n",
        r#"  "network blue" [label="blue\nOpen vSwitch br-blue, MTU 1500, VLAN 100\nnodes are not connected", shape=ellipse, color=red, fontcolor=red];"#,
        r#"  subgraph "cluster node-a" {"#,
        r#"  "network blue" -- "blue on node-a" [style=dashed];"#,
        r#"    "blue on node-b" [label="br-blue\nFailed BridgeExists", color=red, fontcolor=red];"#,
        r#"    "blue on node-a" -- "pod web/dpdk-0" [label="net1 not connected", color=red, fontcolor=red];"#,
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(text.ends_with("}\n") && text.matches('"').count().is_multiple_of(2), "{text}");
}

#[test]
fn mermaid_gets_a_flowchart_with_problems_in_red() {
    assert_eq!(
        mermaid(&example()),
        r#"flowchart LR
  classDef problem stroke:#d0342c,color:#d0342c,stroke-width:2px
  network0(["blue<br/>Open vSwitch br-blue, MTU 1500, VLAN 100<br/>nodes are not connected"]):::problem
  network1(["red<br/>Open vSwitch br-red, MTU 1450<br/>VXLAN between the nodes"])
  subgraph node0["node-a<br/>Open vSwitch 3.1.0<br/>VPP 26.06"]
    bridge0x0["br-blue<br/>and 2 more interfaces"]
    pod0x0[["web/dpdk-0"]]:::problem
    bridge0x0 -- "net1 not connected" --- pod0x0
  end
  network0 -.- bridge0x0
  subgraph node1["node-b<br/>Open vSwitch 3.1.0<br/>VPP 26.06"]
    bridge1x0["br-blue<br/>Failed BridgeExists"]:::problem
  end
  network0 -.- bridge1x0
"#
    );
}

#[test]
fn problems_are_red_on_terminals() {
    let text = colored_text(&example(), true);
    assert!(text.contains("\u{1b}[31mweb/dpdk-0  net1  10.56.217.4  NOT CONNECTED\u{1b}[0m"), "{text}");
    assert!(text.contains("\u{1b}[31mnode-b Failed") && !text.contains("\u{1b}[31mblue"), "{text}");
}

#[test]
fn each_pod_is_in_one_frame_and_nodes_without_pods_are_folded() {
    let snapshot = large(7);
    let graph = graph(&snapshot, None);
    let frames = frames(&graph);
    let mut pods: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in frames.iter().flat_map(|frame| &frame.pods) {
        *pods.entry(pod.name).or_default() += 1;
    }
    assert_eq!((pods.len(), pods.values().max()), (snapshot.pods.len(), Some(&1)));
    let nodes: usize = frames.iter().map(|frame| frame.nodes.len()).sum();
    assert_eq!(nodes, NODES, "each node is in one frame");
    let with_pods = NODES / 7;
    let others: Vec<_> = frames.iter().skip(with_pods).map(|frame| (frame.title(), frame.unused_text())).collect();
    let folded = |nodes: &str, networks: &str| (nodes.to_owned(), Some(networks.to_owned()));
    assert_eq!(
        others,
        [
            ("worker-180".to_owned(), None),
            folded("worker-117", "10 networks without pods"),
            folded("+10 nodes", "49 more networks without pods"),
            folded("+160 nodes", "50 networks without pods"),
        ]
    );
}

#[test]
fn the_text_of_a_large_cluster_is_short_and_has_its_problems() {
    let graph = graph(&large(7), None);
    let text = text(&graph);
    println!("{NODES} nodes, {NETWORKS} networks: {} lines of text", text.lines().count());
    assert!(text.lines().count() < 150, "{text}");
    for part in [
        "node worker-117  Disconnected: Open vSwitch: no connection",
        "node worker-180  NodeNotReady",
        "t01-fabric  (Open vSwitch br-t01-fabric, MTU 1500; uplink fab, VLAN 102)\n└─ 198 nodes Programmed without pods, 2 nodes not Programmed\n",
        "12 nodes Failed: MtuTooLarge",
        "NOT CONNECTED on worker-",
        "Shortened; all of a network: kubectl usnet graph NETWORK",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let one = colored_text(&Graph { networks: graph.networks[..1].to_vec(), ..Graph::default() }, false);
    assert!(one.contains("web/upf-") && !one.contains("Shortened"), "{one}");
}

#[test]
fn untrusted_names_do_not_end_a_label() {
    let mut graph = example();
    graph.networks[0].description = "a\"; evil [x]\n<b>#".to_owned();
    assert!(dot(&graph).contains(r#"a\"; evil [x]\n<b>#"#), "{}", dot(&graph));
    assert!(mermaid(&graph).contains("a#quot;; evil [x]\\n#lt;b>#35;"), "{}", mermaid(&graph));
}
