//! Configurations of Intel's userspace CNI.

pub(crate) mod state;

use crate::support::{NETWORK, TestNode, port_types};
use serde_json::{Value, json};
use usnet_crds::{EngineKind, Port};

/// An example of the legacy plugin, for the bridge of [`NETWORK`]: vhost-user, and the pod's
/// program listens.
pub(crate) fn legacy(node: &TestNode) -> Value {
    let engine = engine_name(node);
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "old-net", "logLevel": "debug",
        "host": {
            "engine": engine, "iftype": "vhostuser", "netType": "bridge", "vhost": {"mode": "client"},
            "bridge": {"bridgeName": node.bridge()},
        },
        "container": {"engine": engine, "iftype": "vhostuser", "netType": "interface", "vhost": {"mode": "server"}},
    })
}

/// An example of the legacy plugin for VPP's memif, for the bridge of [`NETWORK`].
pub(crate) fn legacy_memif(node: &TestNode) -> Value {
    json!({
        "cniVersion": "0.3.1", "type": "userspace", "name": "old-net",
        "host": {
            "engine": "vpp", "iftype": "memif", "netType": "bridge", "memif": {"role": "master", "mode": "ethernet"},
            "bridge": {"bridgeName": node.bridge()},
        },
        "container": {"engine": "vpp", "iftype": "memif", "netType": "interface", "memif": {"role": "slave", "mode": "ethernet"}},
    })
}

/// An example of the fork of the legacy plugin: vhost-user where the engine listens.
pub(crate) fn legacy_vhost_user_server(node: &TestNode) -> Value {
    let mut configuration = legacy(node);
    configuration["host"]["vhost"]["mode"] = "server".into();
    configuration["container"]["vhost"]["mode"] = "client".into();
    configuration
}

fn engine_name(node: &TestNode) -> &'static str {
    match node.engine.kind() {
        EngineKind::OpenVswitch => "ovs-dpdk",
        EngineKind::Vpp => "vpp",
    }
}

/// Each port type of the legacy plugin with the node's engine, with its configuration. [`NETWORK`]
/// is programmed for one at a time.
pub(crate) fn port_types_of(node: &TestNode) -> Vec<(Port, Value)> {
    match node.engine.kind() {
        EngineKind::OpenVswitch => vec![
            (port_types::vhost_user(), legacy(node)),
            (port_types::vhost_user_server(), legacy_vhost_user_server(node)),
        ],
        EngineKind::Vpp => vec![
            (port_types::memif_in_volume(), legacy_memif(node)),
            (port_types::vhost_user_server(), legacy_vhost_user_server(node)),
            (port_types::vhost_user(), legacy(node)),
        ],
    }
}

/// Programs [`NETWORK`] with these ports.
pub(crate) fn program(node: &TestNode, port: &Port) {
    node.program_network_with(NETWORK, port, None);
}
