//! Changes by another client to usnet's objects in the engines, which must be reverted.

use crate::soak::foreign::bridges;
use crate::soak::foreign::domains::{self, Domain};
use crate::soak::steps::engine;
use crate::soak::steps::names;
use crate::support::cluster::{check, on_node};
use crate::support::vpp;
use usnet_crds::EngineKind;

/// Deletes the bridge of a network, if it is owned by usnet.
pub(crate) fn remove_bridge(node: usize, network: usize) -> Result<(), String> {
    let (node, name) = (names::node(node), names::bridge_of(network));
    match engine(network) {
        EngineKind::OpenVswitch => {
            check(bridges::is_ours(node, &name)?, "it is not ours")?;
            bridges::remove(node, &name)
        }
        EngineKind::Vpp => {
            let domain = Domain::read(node, &name)?;
            check(domain.is_ours(), "it is not ours")?;
            domain.remove(node)
        }
    }
}

/// Changes a setting of the bridge of a network, if it is ours.
pub(crate) fn change_bridge(node: usize, network: usize, setting: usize) -> Result<(), String> {
    let (node, name) = (names::node(node), names::bridge_of(network));
    match engine(network) {
        EngineKind::OpenVswitch => {
            check(bridges::is_ours(node, &name)?, "it is not ours")?;
            bridges::change(node, &name, setting)
        }
        EngineKind::Vpp => {
            let domain = Domain::read(node, &name)?;
            check(domain.is_ours(), "it is not ours")?;
            domain.change(node, setting)
        }
    }
}

/// Deletes a port of usnet on any bridge.
pub(crate) fn remove_port(node: usize, network: usize, port: usize) -> Result<(), String> {
    let (node, name) = (names::node(node), names::bridge_of(network));
    match engine(network) {
        EngineKind::OpenVswitch => bridges::remove_port(node, &bridges::port(node, &name, port)?),
        EngineKind::Vpp => domains::remove_port(node, Domain::read(node, &name)?.port(port)?),
    }
}

/// Changes what a port of ours was set to.
pub(crate) fn change_port(node: usize, network: usize, port: usize) -> Result<(), String> {
    let (node, name) = (names::node(node), names::bridge_of(network));
    match engine(network) {
        EngineKind::OpenVswitch => bridges::change_port(node, &bridges::port(node, &name, port)?, port),
        EngineKind::Vpp => domains::change_port(node, Domain::read(node, &name)?.port(port)?, port),
    }
}

/// Returns the objects with an ownership tag of usnet in the engines of a node.
pub(crate) fn marked(node: &str) -> Vec<String> {
    let mut found = vpp::tags(node);
    found.retain(|tag| tag.starts_with("usn"));
    for table in ["Bridge", "Port"] {
        let list = ["ovs-vsctl", "--format=csv", "--no-headings", "--columns=name,external_ids", "list", table];
        found.extend(on_node(node, &list).lines().filter(|row| row.contains("usnet.dev/")).map(ToOwned::to_owned));
    }
    found
}
