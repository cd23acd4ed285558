//! What Intel's userspace CNI and libcni leave on a node for a pod.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::testing::network_with;

/// The network namespace of the test, as that of a running pod.
pub(crate) const LIVING: &str = "/proc/self/ns/net";

/// A pod of the legacy plugin, with one interface `net1`.
pub(crate) struct LegacyPod {
    pub(crate) name: String,
    pub(crate) container: String,
    pub(crate) state: PathBuf,
    pub(crate) call: PathBuf,
    configuration: Value,
}

impl LegacyPod {
    /// A pod whose files do not exist yet. `configuration` is that of its NAD.
    pub(crate) fn new(paths: &NodePaths, number: u8, configuration: Value) -> Self {
        let container = format!("{number:02x}").repeat(32);
        let call = format!("var/lib/cni/multus/results/legacy-{container}-net1");
        Self {
            name: format!("pod-{number}"),
            state: paths.legacy_root.join(format!("var/lib/cni/usrspcni/data/local-{}-net1.json", &container[..12])),
            call: paths.legacy_root.join(call),
            container,
            configuration,
        }
    }

    /// `<container>-net1`, the name of the port in Open vSwitch and of its socket.
    pub(crate) fn port(&self) -> String {
        format!("{}-net1", &self.container[..12])
    }

    pub(crate) fn id(&self) -> String {
        format!("{}.net1", self.container)
    }

    /// Writes the files of an ADD.
    pub(crate) fn write(&self, state: &Value) {
        for path in [&self.state, &self.call] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::write(&self.state, state.to_string()).unwrap();
        fs::write(&self.call, self.cached(LIVING).to_string()).unwrap();
    }

    /// The call as libcni keeps it.
    pub(crate) fn cached(&self, network_namespace: &str) -> Value {
        let configuration = STANDARD.encode(self.configuration.to_string());
        json!({
            "kind": "cniCacheV1", "containerId": self.container, "ifName": "net1", "networkName": "legacy",
            "config": configuration,
            "cniArgs": [
                ["IgnoreUnknown", "true"], ["K8S_POD_NAMESPACE", "default"], ["K8S_POD_NAME", self.name],
                ["K8S_POD_INFRA_CONTAINER_ID", self.container], ["K8S_POD_UID", format!("uid-{}", self.name)],
            ],
            "result": {
                "cniVersion": "1.1.0",
                "interfaces": [{"name": "net1", "sandbox": network_namespace}],
                "ips": [{"address": "10.56.217.131/24"}],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        })
    }
}

/// A configuration for Open vSwitch and this bridge.
pub(crate) fn ovs_configuration(bridge: &str) -> Value {
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "legacy",
        "host": {
            "engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "bridge",
            "vhost": {"mode": "client"}, "bridge": {"bridgeName": bridge},
        },
        "container": {"engine": "ovs-dpdk", "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
    })
}

/// A configuration for a memif of VPP and this bridge domain.
pub(crate) fn vpp_configuration(domain: u32) -> Value {
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "legacy",
        "host": {
            "engine": "vpp", "iftype": "memif", "netType": "bridge", "memif": {"role": "master", "mode": "ethernet"},
            "bridge": {"bridgeName": domain.to_string()},
        },
        "container": {"engine": "vpp", "iftype": "memif", "memif": {"role": "slave", "mode": "ethernet"}},
    })
}

/// The network that the operator makes of it.
pub(crate) fn network_of_bridge(engine: EngineKind, name: &str, bridge: &str) -> NodeNetwork {
    let mut network = network_with(engine, name);
    network.bridge.name = bridge.parse().unwrap();
    network
}
