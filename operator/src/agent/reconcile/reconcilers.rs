//! The reconcilers of the node: one for each engine. A further engine adds a line to the factory
//! here, and nothing else outside its own folder.

use super::agent_state::AgentState;
use super::reconcile_loop::ReconcileLoop;
use crate::agent::engines::{EngineWatcher, OpenVswitchWatcher, SocketFolderDeleted, VppWatcher};
use crate::agent::model::spec::NodeSpec;
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::watch::Receiver;
use usnet_crds::EngineKind;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;

/// The reconcile loop of some engine.
pub(crate) trait Reconciler: fmt::Debug {
    /// Runs indefinitely.
    ///
    /// # Errors
    /// When only a restart of the agent helps.
    fn run(self: Box<Self>) -> LocalBoxFuture<'static, Result<Infallible, SocketFolderDeleted>>;
}

/// What every reconciler is given.
#[derive(Debug, Clone)]
pub(crate) struct Inputs {
    /// The state that all of them share.
    pub(crate) agent_state: Rc<AgentState>,
    /// The specs of the node.
    pub(crate) specs: Receiver<Option<Arc<NodeSpec>>>,
    /// Changes of the journal and of the network files.
    pub(crate) folders: Receiver<()>,
    /// Changes of the node's devices.
    pub(crate) links: Receiver<()>,
    /// The network namespace of these devices; none is that of the process.
    pub(crate) network_namespace: Option<PathBuf>,
}

/// Connects to an engine. Nothing is changed before its reconciler runs. Must be called inside a
/// tokio runtime.
pub(crate) fn reconciler(
    engine: EngineKind,
    paths: &NodePaths,
    memif_socket_ids: MemifSocketIds,
    inputs: Inputs,
) -> Box<dyn Reconciler> {
    let socket = paths.engine_socket(engine);
    match engine {
        EngineKind::OpenVswitch => inputs.reconciler(OpenVswitchWatcher::connect(&socket)),
        EngineKind::Vpp => inputs.reconciler(VppWatcher::connect(&socket, memif_socket_ids)),
    }
}

impl Inputs {
    fn reconciler<W: EngineWatcher + 'static>(self, watcher: W) -> Box<dyn Reconciler> {
        Box::new(ReconcileLoop::new(watcher, self))
    }
}

impl<W: EngineWatcher + 'static> Reconciler for ReconcileLoop<W> {
    fn run(self: Box<Self>) -> LocalBoxFuture<'static, Result<Infallible, SocketFolderDeleted>> {
        ReconcileLoop::run(*self).boxed_local()
    }
}
