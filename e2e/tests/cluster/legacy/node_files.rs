//! Configurations of the legacy userspace CNI that are in no NAD: Multus reads them from a file of
//! the node, and so does the agent there.

use super::handoff::{create, definition, testpmd_pod};
use super::volumes::await_many_packets;
use crate::support::cluster::{apply, check, condition, eventually, get, kubectl, on_node, timeout, vsctl};
use crate::support::kubectl_usnet::usnet;
use crate::support::pods::{NODE, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};

const FILE: &str = "/etc/cni/multus/net.d/90-in-file.conf";
const BRIDGE: &str = "br-in-file";

/// The file, as long as this exists.
struct File;

impl File {
    fn write(text: &str) -> Self {
        on_node(NODE, &["sh", "-c", &format!("echo '{text}' >{FILE}.new && mv {FILE}.new {FILE}")]);
        Self
    }
}

impl Drop for File {
    fn drop(&mut self) {
        on_node(NODE, &["rm", "-f", FILE]);
    }
}

fn await_accepted(what: &str, holds: impl Fn(Option<&Value>) -> bool) {
    eventually(what, || {
        let node = get(&["usns", NODE]).ok_or("no node state")?;
        let accepted = condition(&node, "ConfigurationsAccepted");
        check(holds(accepted), node["status"]["conditions"].to_string())
    });
}

#[test]
fn a_bridge_that_only_a_file_of_the_node_names_carries_the_packets_of_its_pods() {
    let scene = Scene::new("in-file");
    let mut definition = definition(&scene, "in-file", BRIDGE);
    let config = definition["spec"]["config"].take();
    definition["spec"] = json!({});
    apply(&definition);
    let mut config: Value = serde_json::from_str(config.as_str().unwrap()).unwrap();
    config["name"] = "in-file".into();
    let file = File::write(&config.to_string());
    eventually("the bridge", || check(vsctl(NODE, &["list-br"]).contains(BRIDGE), "there is none"));
    assert!(get(&["usn", "ovs-br-in-file"]).is_none(), "it is a network of this node alone");
    assert!(!vsctl("node-b", &["list-br"]).contains(BRIDGE), "it is on the other node");

    create(&testpmd_pod(&scene, "rx", "in-file", "rxonly"));
    create(&testpmd_pod(&scene, "tx", "in-file", "txonly"));
    wait_running(&scene, "rx");
    await_many_packets(&scene, "rx");

    let file_with_mistake = File::write(&config.to_string().replace("vhostuser", "tap"));
    await_accepted("the mistake", |accepted| {
        accepted.is_some_and(|it| it["message"].to_string().contains("host.iftype"))
    });
    let explained = usnet(&["explain", "node", NODE]);
    for words in ["ConfigurationInvalid", "90-in-file.conf", "remove the file"] {
        assert!(explained.status == 1 && explained.stdout.contains(words), "{explained:?}");
    }
    assert!(vsctl(NODE, &["list-br"]).contains(BRIDGE), "its pods lost their bridge");

    drop((file, file_with_mistake));
    await_accepted("no mistake", |accepted| accepted.is_none());
    kubectl(&["delete", "pods", "--all", "-n", &scene.name, "--grace-period=1", timeout()]);
    eventually("the bridge goes", || check(!vsctl(NODE, &["list-br"]).contains(BRIDGE), "still there"));
}
