//! Definitions and pods of the legacy plugin, in which usnet's test program plays the pod's.

use crate::legacy::handoff::{create, definition, definition_of_vpp};
use crate::support::cluster::eventually;
use crate::support::pods::{NODE, wait_running};
use crate::support::scene::Scene;
use crate::support::tools::run_tool;
use serde_json::{Value, json};
use usnet_e2e::kubernetes::images::names::{TESTPMD_IMAGE, TOOLS_IMAGE};

/// What differs between the engines.
#[derive(Clone, Copy)]
pub(super) struct Variant {
    pub(super) engine: &'static str,
    /// The name of the definition, and the prefix of the names of its pods.
    pub(super) definition: &'static str,
    pub(super) bridge: &'static str,
    pub(super) network: &'static str,
}

pub(super) const OPEN_VSWITCH: Variant =
    Variant { engine: "OVS", definition: "switch-ovs", bridge: "br-old", network: "ovs-br-old" };
pub(super) const VPP: Variant =
    Variant { engine: "VPP", definition: "switch-vpp", bridge: "4713", network: "vpp-4713" };

/// A running pod.
pub(super) struct Running {
    pub(super) name: String,
    pub(super) address: String,
}

/// Two pods that send to each other.
pub(super) struct Pair {
    pub(super) left: Running,
    pub(super) right: Running,
}

impl Variant {
    pub(super) fn definition(&self, scene: &Scene) -> Value {
        if self.engine == "OVS" {
            return definition(scene, self.definition, self.bridge);
        }
        let mut definition = definition_of_vpp(scene, self.definition, self.bridge.parse().unwrap());
        let mut config: Value = serde_json::from_str(definition["spec"]["config"].as_str().unwrap()).unwrap();
        config["kubeconfig"] = "/etc/cni/net.d/multus.d/multus.kubeconfig".into();
        config["ipam"] = json!({"type": "host-local", "subnet": "10.56.218.0/24"});
        definition["spec"]["config"] = config.to_string().into();
        definition
    }

    /// Creates a pod and returns its name. Its volume is a folder of the node where the legacy
    /// plugin takes no other: the path of an `emptyDir` is too long for a socket of VPP.
    pub(super) fn create(&self, scene: &Scene, name: &str, has_folder: bool) -> String {
        let name = format!("{}-{name}", self.engine.to_lowercase());
        create(&self.pod(scene, &name, has_folder && self.engine == "VPP"));
        name
    }

    fn pod(&self, scene: &Scene, name: &str, has_folder: bool) -> Value {
        let folder = json!({"name": "shared-dir", "hostPath": {"path": "/run/old", "type": "DirectoryOrCreate"}});
        let volume = if has_folder { folder } else { json!({"name": "shared-dir", "emptyDir": {}}) };
        let annotations = json!({"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}});
        let shared = json!({"name": "shared-dir", "mountPath": "/var/lib/cni/usrspcni"});
        let described = json!({"name": "described", "mountPath": "/described"});
        let networks = json!({"k8s.v1.cni.cncf.io/networks": self.definition});
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": scene.name, "annotations": networks},
            "spec": {
                "nodeName": NODE, "terminationGracePeriodSeconds": 1,
                "initContainers": [{
                    "name": "describe", "image": TESTPMD_IMAGE, "imagePullPolicy": "Never",
                    "command": ["sh", "-c", DESCRIBE], "env": [{"name": "ENGINE", "value": self.engine}],
                    "volumeMounts": [described, {"name": "podinfo", "mountPath": "/etc/podinfo"}],
                }],
                "containers": [{
                    "name": "main", "image": TOOLS_IMAGE, "imagePullPolicy": "Never",
                    "args": ["--folder=/described"], "volumeMounts": [described, shared],
                }],
                "volumes": [
                    volume, {"name": "described", "emptyDir": {}},
                    {"name": "podinfo", "downwardAPI": {"items": [annotations]}},
                ],
            },
        })
    }
}

impl Running {
    /// Waits until a pod runs and its engine is connected.
    pub(super) fn await_pod(scene: &Scene, name: String) -> Self {
        wait_running(scene, &name);
        let description = eventually("the engine connects", || run_tool(scene, &name, &["show"]));
        let address = description["addresses"][0].as_str().and_then(|address| address.split('/').next());
        Self { address: address.unwrap_or_else(|| panic!("{description}")).to_owned(), name }
    }
}

/// Writes the description that the test program reads from the annotation of the legacy plugin.
const DESCRIBE: &str = r#"
while ! grep -q containerId /etc/podinfo/annotations; do sleep 0.1; done
id=$(grep -o 'containerId[^,]*' /etc/podinfo/annotations | grep -o '[0-9a-f]\{64\}' | head -n 1)
address=$(grep -o 'address[^,}]*' /etc/podinfo/annotations | grep -o '[0-9.]*/[0-9]*' | head -n 1)
last=${address%/*}
mac=$(printf '02:00:00:00:00:%02x' "${last##*.}")
name=$(printf %.12s "$id")-net1
end='"type":"vhost-user","role":"server"'
[ "$ENGINE" = OVS ] || name=memif-$name.sock end='"type":"memif","role":"client","id":0'
echo "{\"network\":\"old\",\"interface\":\"net1\",$end,\"socket\":\"/var/lib/cni/usrspcni/$name\",\"mac\":\"$mac\",\"mtu\":1500,\"ips\":[{\"address\":\"$address\"}]}" >/described/net1.json
"#;
