//! `kubectl usnet trace`: the path between two pods, and where it is broken.

use super::{list, text};
use crate::support::cluster::{check, eventually};
use crate::support::kubectl_usnet::{ask, usnet};
use crate::support::pods::{in_pod, sleeping_pod, start};
use crate::support::scene::Scene;
use crate::support::station::Station;
use serde_json::{Value, json};

/// The exit status, the cause and the report.
fn trace(from: &str, to: &str) -> (i32, String, Value) {
    let (status, report) = ask(&["trace", from, to, "-n", "ask-trace", "--interval", "0"]);
    (status, text(&report["conclusion"], "cause").to_owned(), report)
}

/// Waits until the verdict is this one: engines count and learn some seconds late.
fn await_conclusion(from: &str, to: &str, expected: (i32, &str)) -> Value {
    eventually(&format!("{expected:?} from {from} to {to}"), || {
        let (status, cause, report) = trace(from, to);
        check((status, cause.as_str()) == expected, report.to_string())?;
        Ok(report)
    })
}

fn ping(scene: &Scene, from: &str, to: &str) {
    let address = Station::of_pod(scene, to).address;
    eventually(&format!("{from} reaches {to}"), || {
        let answer = in_pod(scene, from, &format!("busybox ping -c 2 -W 2 {address} || true"));
        check(answer.contains("bytes from"), answer)
    });
}

/// A pod on the other node.
fn far(scene: &Scene, name: &str, network: &str) -> Value {
    let mut pod = sleeping_pod(scene, name, network);
    pod["spec"]["nodeName"] = json!("node-b");
    pod
}

#[test]
fn the_path_between_pods_is_traced_on_one_node_and_across_nodes() {
    let scene = Scene::new("ask-trace");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.41.0/24"}]]});
    scene.network("trace-node", &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    let ranges = json!({"type": "host-local", "ranges": [[{"subnet": "10.142.0.0/16"}]], "nodePrefix": {"ipv4": 24}});
    let overlay = json!({"type": "Overlay", "overlay": {}});
    scene.network(
        "trace-over",
        &json!({"port": {"type": "Veth"}, "topology": overlay, "bridge": {"mtu": 1400}, "ipam": ranges}),
    );
    scene.network("trace-socket", &json!({}));
    for (name, network) in
        [("a", "trace-node"), ("b", "trace-node"), ("c", "trace-over"), ("s", "trace-socket"), ("t", "trace-socket")]
    {
        start(&scene, &sleeping_pod(&scene, name, network));
    }
    for (name, network) in [("z", "trace-node"), ("d", "trace-over")] {
        start(&scene, &far(&scene, name, network));
    }
    ping(&scene, "a", "b");
    ping(&scene, "c", "d");

    let report = await_conclusion("a", "b", (0, "Passes"));
    assert_eq!(report["network"], "trace-node", "{report}");
    let report = await_conclusion("c", "d", (0, "Passes"));
    let nodes: Vec<&str> = list(&report, "steps").iter().filter_map(|step| step["node"].as_str()).collect();
    assert!(nodes.contains(&"node-a") && nodes.contains(&"node-b"), "{report}");
    println!("{}", usnet(&["trace", "c", "d", "-n", "ask-trace"]).stdout);

    await_conclusion("a", "z", (1, "NodeLocal"));
    await_conclusion("s", "t", (1, "NotConnected"));
    await_conclusion("a", "c", (1, "NetworksDiffer"));
    let missing = usnet(&["trace", "a", "lost", "-n", "ask-trace"]);
    assert_eq!(missing.status, 3, "{missing:?}");
}
