//! Starts the programs of one node.

use std::sync::Arc;
use std::thread;

use crate::engines::open_vswitch;
use crate::engines::vpp;
use crate::host::cgroups;
use crate::kubernetes::containerd;
use crate::kubernetes::kubelet;
use crate::nodes::fabric;
use crate::nodes::node::Node;
use crate::nodes::pod_network;
use crate::processes::start::{OrchestratorError, Start};

/// Creates a node and starts the programs that do not need the API server: containerd and the
/// engines.
pub(crate) fn start(start: &Start, name: &str, index: u8) -> Result<Node, OrchestratorError> {
    cgroups::create(&start.folder.id(), name)?;
    let node = Node::create(&start.folder, &start.settings, name, index)?;
    fabric::connect(&node, start.settings.nodes)?;
    thread::scope(|scope| {
        let open_vswitch = scope.spawn(|| start_open_vswitch(start, &node));
        let vpp = scope.spawn(|| start_vpp(start, &node));
        pod_network::install(&node, &start.authority, &start.settings.tools)?;
        start.components.start(&Arc::new(containerd::prepare(&start.folder, &node)?))?;
        vpp.join().map_err(|_| OrchestratorError::Panic)??;
        open_vswitch.join().map_err(|_| OrchestratorError::Panic)?
    })?;
    Ok(node)
}

/// Starts kubelet, which registers the node at the API server.
pub(crate) fn start_kubelet(start: &Start, node: &Node) -> Result<(), OrchestratorError> {
    let kubelet = kubelet::prepare(&start.folder, node, &start.authority)?;
    Ok(start.components.start(&Arc::new(kubelet))?)
}

fn start_open_vswitch(start: &Start, node: &Node) -> Result<(), OrchestratorError> {
    if !start.settings.engines.have_open_vswitch() {
        return Ok(());
    }
    let open_vswitch = open_vswitch::prepare(&start.folder, node)?;
    start.components.start(&open_vswitch.server)?;
    open_vswitch::configure(node)?;
    Ok(start.components.start(&open_vswitch.switch)?)
}

fn start_vpp(start: &Start, node: &Node) -> Result<(), OrchestratorError> {
    match &start.settings.vpp {
        Some(program) => Ok(start.components.start(&vpp::prepare(&start.folder, node, program)?)?),
        None => Ok(()),
    }
}
