//! Configurations that were published with the userspace CNI (Intel) and its fork, as facts, with
//! pods whose volume is a folder of the node: no key is changed. Those of which there is a test of
//! its own are in `volumes` and `node_files`.

use super::handoff::{create, testpmd_pod};
use super::volumes::{Policy, await_many_packets, await_policy, remove, with_folder};
use crate::support::cluster::{apply, eventually, get};
use crate::support::pods::{NODE, in_pod, wait_running};
use crate::support::scene::{Scene, wait_ready};
use crate::support::vpp;
use serde_json::{Value, json};

const LISTEN: &str = include_str!("../../../testdata/old-testpmd.sh");
const CONNECT: &str = include_str!("../../../testdata/published-client.sh");
const ANNOTATED: &str = include_str!("../../../testdata/old-memif.sh");
const MEMIF: &str = include_str!("../../../testdata/published-memif.sh");

/// A published configuration.
struct Published {
    name: &'static str,
    /// What differs between configurations.
    host: Value,
    container: Value,
    /// Keys beside them.
    rest: Value,
    program: &'static str,
    /// The network of its bridge; with VPP it may have a number of its own.
    network: Option<&'static str>,
}

/// The keys that nearly all have, with addresses of this subnet.
fn usual(version: &str, subnet: &str) -> Value {
    json!({
        "cniVersion": version, "kubeconfig": "/etc/cni/net.d/multus.d/multus.kubeconfig",
        "logFile": "/var/log/userspace.log", "logLevel": "debug",
        "ipam": {"type": "host-local", "subnet": subnet, "routes": [{"dst": "0.0.0.0/0"}]},
    })
}

fn open_vswitch() -> [Published; 2] {
    [
        // Without a mode, which means that Open vSwitch listens.
        Published {
            name: "server",
            host: json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge", "bridge": {"bridgeName": "br-5"}}),
            container: json!({"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface"}),
            rest: usual("0.3.1", "10.56.217.0/24"),
            program: CONNECT,
            network: Some("ovs-br-5"),
        },
        Published {
            name: "vlan-mtu",
            host: json!({
                "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge", "mtu": 9000,
                "vhost": {"mode": "client"}, "bridge": {"bridgeName": "br-6", "vlanId": 100},
            }),
            container: json!({
                "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface", "mtu": 9000, "vhost": {"mode": "server"},
            }),
            rest: usual("1.0.0", "10.56.217.0/24"),
            program: LISTEN,
            network: Some("ovs-br-6"),
        },
    ]
}

fn with_vpp() -> [Published; 4] {
    let memif = |role: &str| json!({"role": role, "mode": "ethernet"});
    let queues = json!({
        "role": "master", "mode": "ethernet", "rxQueues": 4, "txQueues": 4, "ringSize": 2048, "bufferSize": 2048,
        "noZeroCopy": false, "useDma": false,
    });
    let of_memif =
        |role: &str| json!({"engine": "vpp", "iftype": "memif", "netType": "interface", "memif": memif(role)});
    [
        Published {
            name: "memif-ping",
            host: json!({
                "engine": "vpp", "iftype": "memif", "netType": "bridge", "memif": memif("master"), "bridge": {"bridgeName": "12"},
            }),
            container: of_memif("slave"),
            rest: usual("0.3.1", "10.77.217.0/24"),
            program: MEMIF,
            network: Some("vpp-12"),
        },
        Published {
            name: "multiqueue",
            host: json!({
                "engine": "vpp", "iftype": "memif", "netType": "bridge", "mtu": 9000, "memif": queues, "bridge": {"bridgeName": "14"},
            }),
            container: of_memif("slave"),
            rest: usual("1.0.0", "10.78.217.0/24"),
            program: MEMIF,
            network: Some("vpp-14"),
        },
        // The fork's minimal example: no bridge, no addresses, no kubeconfig, and another folder.
        Published {
            name: "interface",
            host: of_memif("master"),
            container: of_memif("slave"),
            rest: json!({"cniVersion": "1.0.0", "sharedDir": "/run/openvswitch/"}),
            program: ANNOTATED,
            network: None,
        },
        Published {
            name: "vhostuser",
            host: json!({
                "engine": "vpp", "iftype": "vhostuser", "netType": "bridge", "mtu": 1500, "bridge": {"bridgeName": "15"},
                "vhost": {"mode": "server", "enableGso": true, "enablePacked": false, "enableEventIdx": false},
            }),
            container: json!({"engine": "vpp", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "client"}}),
            rest: usual("1.0.0", "10.56.218.0/24"),
            program: CONNECT,
            network: Some("vpp-15"),
        },
    ]
}

impl Published {
    fn definition(&self, scene: &Scene) -> Value {
        let mut config =
            json!({"type": "userspace", "name": self.name, "host": self.host, "container": self.container});
        let rest = self.rest.as_object().unwrap().clone();
        config.as_object_mut().unwrap().extend(rest);
        json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": self.name, "namespace": scene.name}, "spec": {"config": config.to_string()},
        })
    }

    /// Two pods that send to each other.
    fn start_pods(&self, scene: &Scene) {
        for pod in ["left", "right"] {
            let mut pod = testpmd_pod(scene, pod, self.name, "flowgen");
            pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", self.program]);
            create(&with_folder(pod));
        }
    }
}

fn network_of(scene: &Scene, published: &Published) -> String {
    published.network.map_or_else(|| eventually("a network for the definition", || network_for(scene)), str::to_owned)
}

/// The network that was made of the scene's definition.
fn network_for(scene: &Scene) -> Result<String, String> {
    let networks = get(&["usn", "-l", "usnet.dev/from-nad"]).unwrap_or_default();
    let is_it =
        |network: &&Value| network["spec"]["namespaceSelector"].to_string().contains(&format!("{:?}", scene.name));
    let found = networks["items"].as_array().into_iter().flatten().find(is_it);
    found
        .and_then(|network| network["metadata"]["name"].as_str())
        .map(str::to_owned)
        .ok_or_else(|| networks.to_string())
}

/// Applies a configuration, and waits for packets each way; on a VPP that forwards none, for the
/// ports.
fn check(published: &Published, forwards: bool) {
    let scene = Scene::new(&format!("published-{}", published.name));
    apply(&published.definition(&scene));
    await_policy(&scene, published.name);
    let network = network_of(&scene, published);
    wait_ready(&network);
    published.start_pods(&scene);
    if forwards {
        for pod in ["left", "right"] {
            wait_running(&scene, pod);
            await_many_packets(&scene, pod);
        }
    } else {
        vpp::await_ports(NODE, &network, 2);
    }
    if published.name == "server" {
        assert_read_only(&scene);
    }
    remove(&scene, &network);
}

/// The pod sees the folder of its socket, which is one of the node, and changes nothing there.
fn assert_read_only(scene: &Scene) {
    let script = "cd /var/lib/cni/usrspcni/.vhu* && ls && ! touch changed";
    let listed = in_pod(scene, "left", script);
    assert!(listed.trim().ends_with("-net1") && !listed.contains("changed"), "{listed}");
}

#[test]
fn published_configurations_for_open_vswitch_move_packets_each_way() {
    let _policy = Policy::apply();
    open_vswitch().iter().for_each(|published| check(published, true));
}

#[test]
fn published_configurations_for_vpp_move_packets_each_way() {
    let _policy = Policy::apply();
    let forwards = vpp::moves_packets("packets of published configurations");
    with_vpp().iter().for_each(|published| check(published, forwards));
}
