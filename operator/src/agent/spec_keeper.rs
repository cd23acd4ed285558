//! Takes over what the node should have, and keeps it for the next start before anything is done about it.

use super::shared::Shared;
use super::spec::NodeSpec;
use crate::error_chain::ErrorChain;
use std::convert::Infallible;
use std::future::pending;
use tokio::sync::watch::{Receiver, Sender};

/// Between who tells and the lanes.
#[derive(Debug)]
pub(super) struct SpecKeeper {
    told: Receiver<Option<NodeSpec>>,
    kept: Sender<Option<NodeSpec>>,
}

impl SpecKeeper {
    /// Begins with what an earlier agent kept.
    pub(super) fn new(told: Receiver<Option<NodeSpec>>, kept: Option<NodeSpec>) -> Self {
        Self { told, kept: Sender::new(kept) }
    }

    /// What the node should have; none before anybody told.
    pub(super) fn kept(&self) -> Receiver<Option<NodeSpec>> {
        self.kept.subscribe()
    }

    /// Works for ever.
    pub(super) async fn keep(mut self, shared: &Shared) -> Infallible {
        loop {
            let news = self.told.borrow_and_update().clone();
            if let Some(spec) = news.filter(|spec| self.kept.borrow().as_ref() != Some(spec)) {
                tracing::info!(generation = spec.generation, networks = spec.networks.len(), "new spec");
                if let Err(error) = shared.memory.borrow_mut().keep_spec(&spec) {
                    tracing::warn!(error = %ErrorChain(&error), "what this node should have is not known to the next agent until the API server tells");
                }
                self.kept.send_replace(Some(spec));
            }
            if self.told.changed().await.is_err() {
                pending::<()>().await;
            }
        }
    }
}
