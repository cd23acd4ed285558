//! The reconcile loop of one engine.

use super::wake::{Sources, Timers, Wake};
use crate::engines::{EngineWatcher, SocketFolderDeleted};
use crate::model::spec::{EngineSpec, NodeSpec, SpecChange};
use crate::reconcile::agent_state::{AgentState, Inputs};
use crate::reconcile::reconciler::EngineReconciler;
use crate::reconcile::steps::Outcome;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::Instrument;
use usnet_common::backoff::Backoff;
use usnet_common::display::ErrorChain;

/// First delay before failed operations are retried; it grows exponentially. Most failures pass
/// within a second, and a pod may be waiting.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Longest delay. A lasting failure requires operator action; after that the network works within
/// half a minute without a restart of the agent.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// The loop of one engine.
#[derive(Debug)]
pub(super) struct ReconcileLoop<W: EngineWatcher> {
    agent_state: Rc<AgentState>,
    reconciler: EngineReconciler<W>,
    sources: Sources<Option<Arc<NodeSpec>>, W::SessionState>,
    retry_at: Option<Instant>,
    backoff: Backoff,
}

impl<W: EngineWatcher> ReconcileLoop<W> {
    /// A loop that has not observed its engine yet. The inputs have the spec that an earlier agent
    /// left on disk.
    pub(super) fn new(watcher: W, inputs: Inputs) -> Self {
        let Inputs { agent_state, specs, policies: _, folders, links, paths } = inputs;
        let inherited = specs.borrow().as_ref().map(|spec| EngineSpec::of(spec, W::ENGINE));
        let sources = Sources { specs, engine: watcher.subscribe(), folders, links };
        Self {
            reconciler: EngineReconciler::new(watcher, Rc::clone(&agent_state), inherited, &paths),
            agent_state,
            sources,
            retry_at: None,
            backoff: Backoff::new(FIRST_RETRY, LONGEST_RETRY),
        }
    }

    /// Runs indefinitely, or until only a restart of the agent helps.
    pub(super) async fn run(mut self) -> Result<Infallible, SocketFolderDeleted> {
        let span = tracing::info_span!("reconciler", engine = %W::ENGINE);
        async {
            loop {
                let wake = self.sources.next(self.timers()).await;
                self.on_wake(wake).await?;
            }
        }
        .instrument(span)
        .await
    }

    fn timers(&self) -> Timers {
        let times = self.reconciler.observation_times();
        Timers { retry_at: self.retry_at, observe_at: times.observe_at, not_before: times.not_before }
    }

    async fn on_wake(&mut self, wake: Wake) -> Result<(), SocketFolderDeleted> {
        let change = self.new_spec().map_or(SpecChange::None, |spec| self.reconciler.set_spec(spec));
        let known = if wake.retry || wake.folders || wake.links { None } else { self.reconciler.unchanged_view() };
        let view = match known {
            Some(view) => view,
            None => match self.reconciler.observe().await? {
                Some(view) => view,
                None => return Ok(()),
            },
        };
        let is_idle = !wake.retry && !wake.folders && change != SpecChange::Networks;
        let is_idle = is_idle && !(wake.links && self.reconciler.have_links_changed().await);
        if is_idle && self.reconciler.has_converged(&view) {
            self.agent_state.metrics.reconciled(W::ENGINE);
            self.confirm_spec();
            return Ok(());
        }
        let needs_retry = match self.reconciler.reconcile(view, wake).await {
            Ok(Outcome { facts, retry }) => {
                self.agent_state.metrics.engine(W::ENGINE, &facts);
                self.agent_state.metrics.reconciled(W::ENGINE);
                self.agent_state.node_report.update(|report| report.update(W::ENGINE, facts));
                retry
            }
            Err(error) => {
                let problem = ErrorChain(&error).to_string();
                self.agent_state.node_report.update(|report| report.mark_failed(W::ENGINE, problem));
                true
            }
        };
        if !needs_retry {
            self.backoff.reset();
            self.retry_at = None;
        } else if wake.retry || self.retry_at.is_none() {
            self.retry_at = Some(Instant::now() + self.backoff.wait());
        }
        Ok(())
    }

    /// Returns the spec if it is a new one.
    fn new_spec(&self) -> Option<EngineSpec> {
        let spec = self.sources.specs.borrow();
        let spec = spec.as_ref()?;
        let is_known = self.reconciler.spec().is_some_and(|known| Arc::ptr_eq(&known.node, spec));
        (!is_known).then(|| EngineSpec::of(spec, W::ENGINE))
    }

    /// Records that the last report holds for the current spec as well.
    fn confirm_spec(&self) {
        if let Some(spec) = self.reconciler.spec() {
            self.agent_state.node_report.update(|report| report.confirm_spec(W::ENGINE, &spec.node));
        }
    }
}
