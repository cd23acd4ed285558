//! The objects of usnet in the engine and in the kernel: dumped as text, and created without usnet.

pub(super) mod devices;
pub(super) mod ovs;
pub(super) mod vpp;

use super::files::Files;
use crate::support::TestNode;
use crate::support::engine::TestEngine;
use serde_json::Value;

/// The objects of the node's engine.
pub(super) fn dump(node: &TestNode) -> String {
    match &node.engine {
        TestEngine::OpenVswitch(switch) => ovs::dump(switch),
        TestEngine::Vpp(vpp) => format!("{:#}\n", vpp::dump(vpp)),
    }
}

/// Creates a bridge that is not owned by usnet and that a network can adopt.
pub(super) fn add_foreign_bridge(node: &TestNode, bridge: &str) {
    match &node.engine {
        TestEngine::OpenVswitch(_) => node.engine.add_foreign_bridge(bridge),
        TestEngine::Vpp(vpp) => vpp::add_foreign_bridge(vpp, bridge),
    }
}

/// Puts the objects of the golden files into the node's engine.
pub(super) fn restore(node: &TestNode, golden: &Files) {
    let objects: Value = serde_json::from_str(&golden["engine.json"]).unwrap();
    match &node.engine {
        TestEngine::OpenVswitch(switch) => ovs::restore(switch, &objects),
        TestEngine::Vpp(vpp) => vpp::restore(vpp, &objects),
    }
}
