//! Persists each new spec of the node before the reconcilers receive it. In the other order, an
//! agent that is killed in between could have programmed networks that the next agent does not
//! know, and whose bridges that would take for no longer desired.

use super::persisted_state::PersistedState;
use crate::model::spec::NodeSpec;
use crate::task_cell::TaskCell;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender};
use usnet_common::display::ErrorChain;

/// The link between the spec builder and the reconcilers.
#[derive(Debug)]
pub(crate) struct SpecStore {
    specs: Receiver<Option<Arc<NodeSpec>>>,
    current: Sender<Option<Arc<NodeSpec>>>,
}

impl SpecStore {
    /// Starts with the spec that an earlier agent persisted.
    pub(crate) fn new(specs: Receiver<Option<Arc<NodeSpec>>>, persisted: Option<Arc<NodeSpec>>) -> Self {
        Self { specs, current: Sender::new(persisted) }
    }

    /// The current spec of the node; none before the first.
    pub(crate) fn subscribe(&self) -> Receiver<Option<Arc<NodeSpec>>> {
        self.current.subscribe()
    }

    /// Runs indefinitely.
    pub(crate) async fn persist(mut self, persisted_state: &TaskCell<PersistedState>) -> Infallible {
        loop {
            let spec = self.specs.borrow_and_update().clone();
            if let Some(spec) = spec.filter(|spec| self.current.borrow().as_ref() != Some(spec)) {
                self.log(&spec);
                if let Err(error) = persisted_state.update(|state| state.save_spec(&spec)) {
                    tracing::warn!(error = %ErrorChain(&error), "cannot write the node file; an agent that starts now does not know the desired state of this node until it reaches the API server");
                }
                self.current.send_replace(Some(spec));
            }
            if self.specs.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// Logs a new spec. Many specs only advance the version up to which networks were considered.
    fn log(&self, spec: &NodeSpec) {
        let is_new = self.current.borrow().as_ref().is_none_or(|current| current.networks != spec.networks);
        if is_new {
            tracing::info!(networks = spec.networks.len(), through = spec.through, "new spec");
        } else {
            tracing::debug!(networks = spec.networks.len(), through = spec.through, "same spec");
        }
        for refused in &spec.refused {
            let was_refused = self.current.borrow().as_ref().is_some_and(|current| current.refused.contains(refused));
            if !was_refused {
                tracing::warn!(network = %refused.name, reason = refused.reason, "{}", refused.message);
            }
        }
    }
}
