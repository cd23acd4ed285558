//! The image of Open vSwitch that `make image` writes, with the drivers that a test bed needs.

use crate::support::cluster::{check, eventually, kubectl};
use crate::support::images;
use crate::support::pods::{NODE, start};
use crate::support::scene::Scene;
use serde_json::{Value, json};
use usnet_e2e::kubernetes::images::names::OPENVSWITCH_IMAGE;
use usnet_e2e::kubernetes::images::openvswitch;

const POD: &str = "switch";
const FOLDER: &str = "/run/openvswitch";

fn container(name: &str, command: &[&str]) -> Value {
    json!({
        "name": name, "image": OPENVSWITCH_IMAGE, "imagePullPolicy": "Never", "command": command,
        "volumeMounts": [{"name": "run", "mountPath": FOLDER}],
        "resources": {"requests": {"cpu": "10m"}, "limits": {"cpu": "300m"}},
    })
}

/// The image has no shell: each program is a container.
fn pod(scene: &Scene) -> Value {
    let database = format!("{FOLDER}/conf.db");
    let schema = "/usr/share/openvswitch/vswitch.ovsschema";
    let remote = format!("--remote=punix:{FOLDER}/db.sock");
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": POD, "namespace": scene.name},
        "spec": {
            "nodeName": NODE,
            "terminationGracePeriodSeconds": 1,
            "initContainers": [container("database", &["ovsdb-tool", "create", &database, schema])],
            "containers": [
                container("server", &["ovsdb-server", &remote, &database]),
                container("switch", &["ovs-vswitchd"]),
            ],
            "volumes": [{"name": "run", "emptyDir": {}}],
        },
    })
}

#[test]
fn a_pod_of_the_image_is_a_switch_with_dpdk() {
    images::import(&openvswitch::archive(&images::settings().cache).unwrap());
    let scene = Scene::new("openvswitch-image");
    start(&scene, &pod(&scene));
    let vsctl = |arguments: &[&str]| {
        let exec = ["exec", "-n", &scene.name, POD, "-c", "server", "--", "ovs-vsctl", "--timeout=60", "--no-wait"];
        kubectl(&[&exec[..], arguments].concat())
    };
    let options = "--no-pci --no-huge --legacy-mem -m 256 --file-prefix=imgtest";
    let options = format!("other_config:dpdk-extra=\"{options}\"");
    vsctl(&["set", "Open_vSwitch", ".", "other_config:dpdk-init=true", &options]);
    eventually("the switch has DPDK", || {
        let state = vsctl(&["get", "Open_vSwitch", ".", "dpdk_initialized", "dpdk_version", "iface_types"]);
        check(state.starts_with("true\n\"DPDK ") && state.contains("dpdkvhostuserclient"), state)
    });
}
