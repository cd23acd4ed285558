//! An interface that the legacy userspace CNI attached is taken over by the agent of the node,
//! which sees that plugin's files and the network namespaces of pods, and is removed by DEL.

use super::handoff::definition;
use crate::support::cluster::{apply, check, eventually, get, kubectl, on_node, try_run, vsctl};
use crate::support::pods::NODE;
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Value, json};

const BRIDGE: &str = "br-taken-over";
const CONTAINER: &str = "7a6e0ff1ce7a6e0ff1ce7a6e0ff1ce7a6e0ff1ce7a6e0ff1ce7a6e0ff1ce0001";
const PORT: &str = "7a6e0ff1ce7a-net1";
const STATE: &str = "/var/lib/cni/usrspcni/data/local-7a6e0ff1ce7a-net1.json";
const CALLS: &str = "/var/lib/cni/multus/results";
const NAMESPACE: &str = "/run/netns/taken-over";
const FOLDER: &str = "/var/run/old/7a6e0ff1ce7a";

/// What is on the node, as long as this exists.
struct Attached;

impl Attached {
    /// Leaves what an ADD of the legacy plugin leaves, which Multus called.
    fn new(scene: &Scene, config: &str) -> Self {
        let pod =
            [("K8S_POD_NAMESPACE", scene.name.as_str()), ("K8S_POD_NAME", "old"), ("K8S_POD_UID", "0-taken-over")];
        let call = json!({
            "kind": "cniCacheV1", "containerId": CONTAINER, "ifName": "net1", "networkName": "taken-over",
            "config": "CONFIG", "netns": NAMESPACE, "cniArgs": pod,
            "result": {"cniVersion": "1.1.0", "interfaces": [{"name": "net1", "sandbox": NAMESPACE}]},
        });
        let state = json!({"vhostname": PORT, "vhostmac": "", "ifmac": "1a:2b:3c:4d:5e:6f"});
        let script = format!(
            "set -e; ip netns add taken-over; mkdir -p {FOLDER} {CALLS} $(dirname {STATE}); \
             config=$(printf %s '{config}' | base64 -w 0); \
             printf %s '{call}' | sed \"s|CONFIG|$config|\" >{CALLS}/taken-over-{CONTAINER}-net1; \
             ovs-vsctl add-br {BRIDGE} -- set bridge {BRIDGE} datapath_type=netdev; \
             ovs-vsctl add-port {BRIDGE} {PORT} -- set Interface {PORT} type=dpdkvhostuserclient \
             options:vhost-server-path={FOLDER}/{PORT}; printf %s '{state}' >{STATE}"
        );
        on_node(NODE, &["sh", "-c", &script]);
        Self
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let script = format!(
            "ip netns del taken-over; rm -rf {FOLDER} {STATE} {CALLS}/taken-over-{CONTAINER}-net1; \
             ovs-vsctl --if-exists del-port {PORT}; true"
        );
        on_node(NODE, &["sh", "-c", &script]);
    }
}

fn record() -> String {
    on_node(NODE, &["sh", "-c", &format!("cat /var/lib/usnet/attachments/{CONTAINER}.net1.json 2>/dev/null; true")])
}

/// Calls DEL of the plugin as Multus does.
fn del(config: &str) {
    let variables = [
        "CNI_COMMAND=DEL".to_owned(),
        format!("CNI_CONTAINERID={CONTAINER}"),
        format!("CNI_NETNS={NAMESPACE}"),
        "CNI_IFNAME=net1".to_owned(),
        "CNI_PATH=/opt/cni/bin".to_owned(),
    ];
    let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
    let command = [&[NODE, "env"], variables.as_slice(), &["/opt/cni/bin/userspace"]].concat();
    try_run("on-node", &command, config).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn an_interface_of_the_legacy_plugin_is_taken_over_and_deleted_like_others() {
    let scene = Scene::new("taken-over");
    let mut definition = definition(&scene, "taken-over", BRIDGE);
    let mut config: Value = serde_json::from_str(definition["spec"]["config"].as_str().unwrap()).unwrap();
    config.as_object_mut().unwrap().remove("ipam");
    let config = config.to_string();
    definition["spec"]["config"] = config.clone().into();
    let _attached = Attached::new(&scene, &config);
    let number = vsctl(NODE, &["get", "Interface", PORT, "_uuid"]);
    apply(&definition);
    wait_ready("ovs-br-taken-over");
    eventually("the port has a tag", || {
        let ids = vsctl(NODE, &["get", "Port", PORT, "external_ids"]);
        check(ids.contains("usnet.dev/attachment"), ids)
    });
    assert_eq!(vsctl(NODE, &["get", "Interface", PORT, "_uuid"]), number);
    assert!(record().contains("\"takenOver\":true"), "{}", record());
    eventually("the network counts it", || {
        let network = get(&["usn", "ovs-br-taken-over"]).ok_or("it is gone")?;
        check(network["status"]["attachments"] == 1, network["status"].to_string())
    });
    del(&config);
    assert_eq!(record(), "");
    assert_eq!(vsctl(NODE, &["list-ports", BRIDGE]), "");
    let left = on_node(NODE, &["sh", "-c", &format!("ls -d {STATE} {FOLDER} 2>/dev/null; true")]);
    assert_eq!(left, "");
    kubectl(&["delete", "net-attach-def", "--all", "-n", &scene.name]);
    eventually("the bridge goes", || check(!vsctl(NODE, &["list-br"]).contains(BRIDGE), "still there"));
}
