use super::dot::dot;
use super::mermaid::mermaid;
use super::report::{Graph, graph};
use super::text::text;
use crate::model::testing::{
    add, add_network, attached, network_object, network_report, pod_object, snapshot, state_object,
};
use serde_json::json;

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
fn graphviz_gets_a_quoted_graph() {
    let text = dot(&example());
    for part in [
        "graph usnet {\n",
        r#"  "network blue" [label="blue\nOpen vSwitch br-blue, MTU 1500, VLAN 100\nnodes are not connected", shape=ellipse];"#,
        r#"  "network blue" -- "blue on node-a" [style=dashed];"#,
        r#"  "blue on node-b" [label="node-b\nFailed", color=red];"#,
        r#"  "blue on node-a" -- "pod web/dpdk-0" [label="net1 NOT CONNECTED"];"#,
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    assert!(text.ends_with("}\n") && text.matches('"').count().is_multiple_of(2), "{text}");
}

#[test]
fn mermaid_gets_a_flowchart() {
    assert_eq!(
        mermaid(&example()),
        r#"flowchart LR
  network0(["blue<br/>Open vSwitch br-blue, MTU 1500, VLAN 100<br/>nodes are not connected"])
  network0 -.- node0x0["node-a<br/>Programmed"]
  pod0[["web/dpdk-0"]]
  node0x0 -- "net1 NOT CONNECTED" --- pod0
  network0 -.- node0x1["node-b<br/>Failed"]
  network1(["red<br/>Open vSwitch br-red, MTU 1450<br/>VXLAN between the nodes"])
"#
    );
}

#[test]
fn untrusted_names_do_not_end_a_label() {
    let mut graph = example();
    graph.networks[0].description = "a\"; evil [x]\n<b>#".to_owned();
    assert!(dot(&graph).contains(r#"a\"; evil [x]\n<b>#"#), "{}", dot(&graph));
    assert!(mermaid(&graph).contains("a#quot;; evil [x]\\n#lt;b>#35;"), "{}", mermaid(&graph));
}
