//! A sandbox that is removed without DEL: nothing of it is left on the node.

use crate::support::cluster::{check, eventually, get, kubectl, on_node, vsctl};
use crate::support::collector::QuickCollector;
use crate::support::control_plane::controllers::scrape;
use crate::support::direct_cni::DirectPods;
use crate::support::pods::{NODE, remains, sleeping_pod, start, uid};
use crate::support::scene::{Scene, agent_pod, await_condition};
use serde_json::{Value, json};

const COLLECTED: &str = "usnet_agent_garbage_total{kind=\"Attachment\",result=\"success\"}";

fn addresses(network: &str) -> Vec<String> {
    let script = format!("cd /var/lib/cni/networks/{network} && ls | grep '^10'; true");
    on_node(NODE, &["sh", "-c", &script]).lines().map(str::to_owned).collect()
}

fn ports() -> usize {
    vsctl(NODE, &["list-ports", "br-garbage"]).lines().count()
}

/// How many attachments the agent says were collected.
fn collected() -> Result<u64, String> {
    let text = scrape(NODE, "127.0.0.1")?;
    let line = text.lines().find_map(|line| line.strip_prefix(COLLECTED));
    Ok(line.map_or(0, |value| value.trim().parse().unwrap()))
}

/// One attachment of the network was collected, and which.
fn assert_in_history() {
    let agent = agent_pod(NODE);
    let usnet = ["exec", &agent, "-n", "usnet-system", "--", "/usr/local/bin/usnet"];
    let history = ["node", "history", "-o", "json", "--network", "garbage"];
    let history: Vec<Value> = serde_json::from_str(&kubectl(&[&usnet[..], &history].concat())).unwrap();
    let mut of_garbage = history.iter().filter(|change| change["why"] == "NamespaceGone");
    let change = of_garbage.next().unwrap();
    let detached = json!("detach net1 of pod garbage/direct-1");
    assert_eq!((&change["operation"], &change["result"]), (&detached, &json!("Done")));
    assert!(of_garbage.next().is_none(), "{history:?}");
}

#[test]
fn what_a_sandbox_leaves_without_del_is_collected_and_a_living_pod_keeps_all() {
    let scene = Scene::new("garbage");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.56.99.0/24"}]]});
    scene.network("garbage", &json!({"ipam": ipam}));
    start(&scene, &sleeping_pod(&scene, "stays", "garbage"));
    let direct = DirectPods::new(NODE, &scene.name);
    direct.create_volume(1);
    direct.call("ADD", "garbage", 1).unwrap();
    assert_eq!((addresses("garbage").len(), ports()), (2, 2));
    let before = collected().unwrap();

    direct.end_sandbox();
    kubectl(&["delete", "usn", "garbage", "--wait=false"]);
    eventually("both pods block the deletion", || {
        let message = await_condition("garbage", "DeletionBlocked", "True", "InUse");
        check(message.contains("garbage/direct-1") && message.contains("garbage/stays"), message)
    });

    let collector = QuickCollector::start(NODE);
    eventually("record, mount and files are gone", || check(direct.remains().is_empty(), direct.remains()));
    eventually("port and address are gone", || {
        let left = (addresses("garbage"), ports());
        check(left.0.len() == 1 && left.1 == 1, format!("{left:?}"))
    });
    eventually("the metric says so", || {
        let after = collected()?;
        check(after == before + 1, format!("{after}"))
    });
    drop(collector);
    assert_in_history();

    let kept = remains(&uid(&scene, "stays"));
    for part in ["/var/lib/usnet/attachments/", "/run/usnet/ports/", "vhost"] {
        assert!(kept.contains(part), "{part} of the living pod: {kept}");
    }
    scene.delete_pod("stays");
    eventually("nothing blocks the deletion", || check(get(&["usn", "garbage"]).is_none(), "still there"));
}
