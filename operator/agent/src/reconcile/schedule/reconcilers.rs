//! The reconcilers of the node, one for each engine. Another engine needs a line in the factory
//! here, and nothing else outside its own folder.

use super::reconcile_loop::ReconcileLoop;
use crate::engines::{AclSources, EngineWatcher, OpenVswitchWatcher, PolicySources, SocketFolderDeleted, VppWatcher};
use crate::reconcile::agent_state::Inputs;
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use std::convert::Infallible;
use std::fmt;
use usnet_crds::EngineKind;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;

/// The reconcile loop of some engine.
pub(crate) trait Reconciler: fmt::Debug {
    /// Runs indefinitely, or until only a restart of the agent helps.
    fn run(self: Box<Self>) -> LocalBoxFuture<'static, Result<Infallible, SocketFolderDeleted>>;
}

/// Connects to an engine. Nothing is changed before the reconciler runs. Must be called inside a
/// tokio runtime.
pub(crate) fn reconciler(
    engine: EngineKind,
    paths: &NodePaths,
    memif_socket_ids: MemifSocketIds,
    inputs: Inputs,
) -> Box<dyn Reconciler> {
    let socket = paths.engine_socket(engine);
    let policies = || PolicySources {
        metrics: inputs.agent_state.metrics.clone(),
        journal: inputs.agent_state.journal.clone(),
        policies: inputs.policies.clone(),
    };
    match engine {
        EngineKind::OpenVswitch => {
            let watcher = OpenVswitchWatcher::connect(&socket, policies());
            inputs.reconciler(watcher)
        }
        EngineKind::Vpp => {
            let sources = AclSources {
                metrics: inputs.agent_state.metrics.clone(),
                journal: inputs.agent_state.journal.clone(),
                policies: inputs.policies.clone(),
                specs: inputs.specs.clone(),
            };
            inputs.reconciler(VppWatcher::connect(&socket, memif_socket_ids, sources))
        }
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
