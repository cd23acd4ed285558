//! The reconcile loop of one engine. Each engine has its own, so that one that hangs or is down
//! never delays the other.

use super::agent_state::AgentState;
use super::outcome::Outcome;
use super::wake::{Sources, Timers, Wake};
use crate::agent::engines::{EngineState, EngineWatcher, SocketFolderDeleted, check_socket_folder};
use crate::agent::model::engine_facts::EngineFacts;
use crate::agent::model::engine_view::{EngineView, Outage};
use crate::agent::model::reason::ENGINE_STALLED;
use crate::agent::model::spec::{EngineSpec, NodeSpec};
use crate::agent::report::history_recorder::HistoryRecorder;
use crate::agent::report::replay::Replay;
use crate::agent::report::transition_log::TransitionLog;
use crate::backoff::Backoff;
use crate::display::ErrorChain;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch::Receiver;
use tracing::Instrument;
use usnet_crds::NodeNetwork;
use usnet_crds::conditions::reason::{DISCONNECTED, NEVER_SEEN};
use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::Op;

/// First delay before failed operations are retried; it grows exponentially from there.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long the first connection to an engine may take before the engine is reported as down.
const FIRST_CONNECTION: Duration = Duration::from_secs(1);
/// How often it is checked whether the socket of an engine that is down can come back.
const CHECK_FOLDER: Duration = Duration::from_secs(1);

/// How a spec differs from the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpecChange {
    /// Not at all.
    None,
    /// Only in generations and versions: this engine has nothing to do for it.
    MetadataOnly,
    /// In the networks of this engine.
    Networks,
}

/// The state of the reconciler of one engine.
#[derive(Debug)]
pub(crate) struct EngineReconciler<W: EngineWatcher> {
    pub(crate) agent_state: Rc<AgentState>,
    pub(crate) watcher: W,
    pub(crate) spec: Option<EngineSpec>,
    pub(crate) transition_log: TransitionLog,
    pub(crate) replay: Replay,
    /// Whether the engine was restarted before the current connection.
    pub(crate) restarted: bool,
    pub(crate) history_recorder: HistoryRecorder,
    /// The networks that an earlier agent had in its spec: what is missing of them was lost since.
    pub(crate) inherited: Option<Vec<Arc<NodeNetwork>>>,
    /// Operations whose last attempt failed. They are not retried on every event, because an
    /// attempt causes an event itself.
    pub(crate) failures: Vec<(Op, OpError)>,
    /// Whether the last reconcile had the same spec, so that what is missing now is drift.
    pub(crate) spec_is_known: bool,
    /// The observed engine once nothing was left to do. While it stays the same there is no work.
    pub(crate) converged: Option<EngineView>,
    /// What was reported last.
    last_reported: Option<EngineFacts>,
    sources: Sources<Option<Arc<NodeSpec>>, W::SessionState>,
    started: Instant,
    timers: Timers,
    backoff: Backoff,
}

impl<W: EngineWatcher> EngineReconciler<W> {
    /// A reconciler that has not observed its engine yet.
    pub(crate) fn new(
        watcher: W,
        agent_state: Rc<AgentState>,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        folders: Receiver<()>,
    ) -> Self {
        let inherited = specs.borrow().as_ref().map(|spec| EngineSpec::of(spec, W::ENGINE).networks);
        let sources = Sources { specs, engine: watcher.subscribe(), folders };
        let started = Instant::now();
        let history_recorder = HistoryRecorder::new(W::ENGINE);
        Self {
            agent_state,
            watcher,
            spec: None,
            transition_log: TransitionLog::new(W::ENGINE),
            replay: Replay::default(),
            restarted: false,
            history_recorder,
            inherited,
            failures: Vec::new(),
            spec_is_known: false,
            converged: None,
            last_reported: None,
            sources,
            started,
            timers: Timers { observe_at: Some(started), ..Timers::default() },
            backoff: Backoff::new(FIRST_RETRY, LONGEST_RETRY),
        }
    }

    /// Runs indefinitely.
    ///
    /// # Errors
    /// When only a restart of the agent helps.
    pub(crate) async fn run(mut self) -> Result<Infallible, SocketFolderDeleted> {
        let span = tracing::info_span!("lane", engine = %W::ENGINE);
        self.run_loop().instrument(span).await
    }

    async fn run_loop(&mut self) -> Result<Infallible, SocketFolderDeleted> {
        loop {
            let wake = self.sources.next(self.timers).await;
            self.on_wake(wake).await?;
        }
    }

    async fn on_wake(&mut self, wake: Wake) -> Result<(), SocketFolderDeleted> {
        let change = self.update_spec();
        let Some(view) = self.observe().await? else { return Ok(()) };
        let is_idle = !wake.retry && !wake.folders && change != SpecChange::Networks;
        if is_idle && self.converged.as_ref() == Some(&view) {
            self.confirm_spec();
            return Ok(());
        }
        self.converged = None;
        let result = self.reconcile(view, wake).await;
        self.transition_log.problem("pass", result.as_ref().err());
        let needs_retry = match result {
            Ok(Outcome { facts, retry }) => {
                self.agent_state.metrics.engine(W::ENGINE, &facts);
                self.last_reported = Some(facts.clone());
                self.agent_state.node_report.borrow_mut().update(W::ENGINE, facts);
                retry
            }
            Err(error) => {
                self.agent_state.node_report.borrow_mut().mark_failed(W::ENGINE, ErrorChain(&error).to_string());
                true
            }
        };
        if !needs_retry {
            self.backoff.reset();
            self.timers.retry_at = None;
        } else if wake.retry || self.timers.retry_at.is_none() {
            self.timers.retry_at = Some(Instant::now() + self.backoff.wait());
        }
        Ok(())
    }

    fn update_spec(&mut self) -> SpecChange {
        let Some(spec) = self.sources.specs.borrow().as_ref().map(|spec| EngineSpec::of(spec, W::ENGINE)) else {
            return SpecChange::None;
        };
        let last = self.spec.replace(spec);
        let (Some(last), Some(spec)) = (&last, &self.spec) else {
            self.spec_is_known = false;
            return SpecChange::Networks;
        };
        if last.networks != spec.networks {
            self.spec_is_known = false;
            self.inherited = None;
        }
        if !last.has_same_networks(spec) {
            SpecChange::Networks
        } else if last.node != spec.node {
            SpecChange::MetadataOnly
        } else {
            SpecChange::None
        }
    }

    /// The last report holds for the current spec as well.
    fn confirm_spec(&mut self) {
        let Some((facts, spec)) = self.last_reported.as_mut().zip(self.spec.as_ref()) else { return };
        if facts.spec.as_ref() != Some(&spec.node) {
            facts.spec = Some(Arc::clone(&spec.node));
            self.agent_state.node_report.borrow_mut().update(W::ENGINE, facts.clone());
        }
    }

    /// The engine as it is now; none while the first attempt to connect is still under way.
    ///
    /// # Errors
    /// When its socket can never come back.
    pub(crate) async fn observe(&mut self) -> Result<Option<EngineView>, SocketFolderDeleted> {
        let state = self.watcher.observe().await;
        let now = Instant::now();
        let view = match state {
            EngineState::Up(engine) => {
                self.on_reconnect(now);
                self.timers.observe_at = self.watcher.next_observation();
                self.timers.not_before = Some(now + W::MIN_INTERVAL);
                EngineView::Up(engine)
            }
            EngineState::Stalled { message } => {
                self.timers.observe_at = self.watcher.next_observation();
                self.timers.not_before = None;
                EngineView::Down(Outage { reason: ENGINE_STALLED, message })
            }
            EngineState::Disconnected { message, is_first_attempt } => {
                check_socket_folder(W::ENGINE, self.watcher.socket())?;
                self.timers.observe_at = Some(now + CHECK_FOLDER);
                self.timers.not_before = None;
                if is_first_attempt && now < self.started + FIRST_CONNECTION {
                    return Ok(None);
                }
                let was_seen = self.agent_state.persisted_state.borrow().has_seen(W::ENGINE);
                let reason = if was_seen { DISCONNECTED } else { NEVER_SEEN };
                EngineView::Down(Outage { reason, message })
            }
        };
        self.transition_log.engine(&view);
        Ok(Some(view))
    }

    /// After a new connection the engine may have been restarted, and may have lost everything.
    fn on_reconnect(&mut self, now: Instant) {
        let Some(reconnected) = self.watcher.take_reconnect() else { return };
        let saved = self.agent_state.persisted_state.borrow_mut().save_connection(W::ENGINE, reconnected.restarted);
        self.transition_log.problem("engines", saved.err().as_ref());
        self.replay.start(now);
        self.restarted = reconnected.restarted;
        self.converged = None;
        self.failures.clear();
    }
}
