//! Takes over what the node should have, and keeps it for the next start before anything is done about it.

use super::shared::Shared;
use super::spec::NodeSpec;
use crate::error_chain::ErrorChain;
use std::convert::Infallible;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender};

/// Between who builds the specs and the lanes.
#[derive(Debug)]
pub(super) struct SpecKeeper {
    specs: Receiver<Option<Arc<NodeSpec>>>,
    kept: Sender<Option<Arc<NodeSpec>>>,
}

impl SpecKeeper {
    /// Begins with what an earlier agent kept.
    pub(super) fn new(specs: Receiver<Option<Arc<NodeSpec>>>, kept: Option<Arc<NodeSpec>>) -> Self {
        Self { specs, kept: Sender::new(kept) }
    }

    /// What the node should have; none before anybody told.
    pub(super) fn kept(&self) -> Receiver<Option<Arc<NodeSpec>>> {
        self.kept.subscribe()
    }

    /// Works for ever.
    pub(super) async fn keep(mut self, shared: &Shared) -> Infallible {
        loop {
            let spec = self.specs.borrow_and_update().clone();
            if let Some(spec) = spec.filter(|spec| self.kept.borrow().as_ref() != Some(spec)) {
                self.log(&spec);
                if let Err(error) = shared.memory.borrow_mut().keep_spec(&spec) {
                    tracing::warn!(error = %ErrorChain(&error), "what this node should have is not known to the next agent until the API server tells");
                }
                self.kept.send_replace(Some(spec));
            }
            if self.specs.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }

    /// Many specs say only that there is nothing new up to a later version.
    fn log(&self, spec: &NodeSpec) {
        let is_new = self.kept.borrow().as_ref().is_none_or(|kept| kept.networks != spec.networks);
        if is_new {
            tracing::info!(networks = spec.networks.len(), through = spec.through, "new spec");
        } else {
            tracing::debug!(networks = spec.networks.len(), through = spec.through, "same spec");
        }
        for refused in &spec.refused {
            let was_refused = self.kept.borrow().as_ref().is_some_and(|kept| kept.refused.contains(refused));
            if !was_refused {
                tracing::warn!(network = %refused.name, reason = refused.reason, "{}", refused.message);
            }
        }
    }
}
