//! Persists each new spec of the node before the reconcilers receive it. In the other order, an
//! agent that is killed in between would program networks of which the next agent knows nothing,
//! and which it would take for bridges that are no longer desired.

use super::persisted_state::PersistedState;
use crate::agent::model::spec::NodeSpec;
use crate::display::ErrorChain;
use std::cell::RefCell;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender};

/// Between the spec builder and the reconcilers.
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
    pub(crate) async fn persist(mut self, persisted_state: &RefCell<PersistedState>) -> Infallible {
        loop {
            let spec = self.specs.borrow_and_update().clone();
            if let Some(spec) = spec.filter(|spec| self.current.borrow().as_ref() != Some(spec)) {
                self.log(&spec);
                if let Err(error) = persisted_state.borrow_mut().save_spec(&spec) {
                    tracing::warn!(error = %ErrorChain(&error), "cannot write the node file; an agent that starts now does not know the desired state of this node until it reaches the API server");
                }
                self.current.send_replace(Some(spec));
            }
            if self.specs.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// Many specs only advance the version up to which nothing has changed.
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
