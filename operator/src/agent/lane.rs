//! The loop of one engine. Each engine has its own, so that one that hangs or is gone never holds up the other.

use super::chronicle::Chronicle;
use super::link::{FolderGone, Link, Sight, check_folder};
use super::observe::{EngineView, Outage};
use super::pass::Outcome;
use super::reason::NOT_ACTING;
use super::recorder::Recorder;
use super::replay::Replay;
use super::report::EngineFacts;
use super::shared::Shared;
use super::spec::{EngineSpec, NodeSpec};
use super::wake::{Alarms, Sources, Wake};
use crate::backoff::Backoff;
use crate::error_chain::ErrorChain;
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

/// What failed is tried again after this, and then less and less often.
const FIRST_RETRY: Duration = Duration::from_secs(1);
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// How long an engine may take to answer for the first time before it counts as gone.
const FIRST_ANSWER: Duration = Duration::from_secs(1);
/// How often it is checked whether the socket of an engine that is gone can come back.
const CHECK_FOLDER: Duration = Duration::from_secs(1);

/// How a spec differs from the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpecChange {
    /// It is the same.
    None,
    /// This engine has nothing to do for it.
    Numbers,
    /// It asks for something else of this engine.
    Work,
}

/// Everything that the work on one engine needs.
#[derive(Debug)]
pub(super) struct Lane<L: Link> {
    pub(super) shared: Rc<Shared>,
    pub(super) link: L,
    pub(super) spec: Option<EngineSpec>,
    pub(super) chronicle: Chronicle,
    pub(super) replay: Replay,
    /// Whether that connection met another life of the engine.
    pub(super) restarted: bool,
    pub(super) recorder: Recorder,
    /// The networks that an earlier agent knew: what is missing of them was lost since.
    pub(super) inherited: Option<Vec<Arc<NodeNetwork>>>,
    /// What failed when it was last tried. It is not tried again by every event, because a try is an event itself.
    pub(super) failures: Vec<(Op, OpError)>,
    /// Whether the last pass had the same spec, so that what is missing now is drift.
    pub(super) spec_is_known: bool,
    /// The engine when nothing was left to be done. While it looks the same there is no work.
    pub(super) settled: Option<EngineView>,
    /// What was reported last.
    posted: Option<EngineFacts>,
    sources: Sources<Option<Arc<NodeSpec>>, L::State>,
    started: Instant,
    alarms: Alarms,
    backoff: Backoff,
}

impl<L: Link> Lane<L> {
    /// A lane that has not looked at its engine yet.
    pub(super) fn new(
        link: L,
        shared: Rc<Shared>,
        specs: Receiver<Option<Arc<NodeSpec>>>,
        folders: Receiver<()>,
    ) -> Self {
        let inherited = specs.borrow().as_ref().map(|spec| EngineSpec::of(spec, L::ENGINE).networks);
        let sources = Sources { specs, engine: link.states(), folders };
        let started = Instant::now();
        let recorder = Recorder::new(L::ENGINE);
        Self {
            shared,
            link,
            spec: None,
            chronicle: Chronicle::new(L::ENGINE),
            replay: Replay::default(),
            restarted: false,
            recorder,
            inherited,
            failures: Vec::new(),
            spec_is_known: false,
            settled: None,
            posted: None,
            sources,
            started,
            alarms: Alarms { look_at: Some(started), ..Alarms::default() },
            backoff: Backoff::new(FIRST_RETRY, LONGEST_RETRY),
        }
    }

    /// Works for ever.
    ///
    /// # Errors
    /// When only a new start of the agent helps.
    pub(super) async fn run(mut self) -> Result<Infallible, FolderGone> {
        let span = tracing::info_span!("lane", engine = %L::ENGINE);
        self.work_for_ever().instrument(span).await
    }

    async fn work_for_ever(&mut self) -> Result<Infallible, FolderGone> {
        loop {
            let wake = self.sources.next(self.alarms).await;
            self.work(wake).await?;
        }
    }

    async fn work(&mut self, wake: Wake) -> Result<(), FolderGone> {
        let change = self.take_spec();
        let Some(view) = self.look().await? else { return Ok(()) };
        let is_idle = !wake.retry && !wake.folders && change != SpecChange::Work;
        if is_idle && self.settled.as_ref() == Some(&view) {
            self.confirm_spec();
            return Ok(());
        }
        self.settled = None;
        let result = self.pass(view, wake).await;
        self.chronicle.problem("pass", result.as_ref().err());
        let needs_retry = match result {
            Ok(Outcome { facts, retry }) => {
                self.shared.metrics.engine(L::ENGINE, &facts);
                self.posted = Some(facts.clone());
                self.shared.board.borrow_mut().post(L::ENGINE, facts);
                retry
            }
            Err(error) => {
                self.shared.board.borrow_mut().spoil(L::ENGINE, ErrorChain(&error).to_string());
                true
            }
        };
        if !needs_retry {
            self.backoff.reset();
            self.alarms.retry_at = None;
        } else if wake.retry || self.alarms.retry_at.is_none() {
            self.alarms.retry_at = Some(Instant::now() + self.backoff.wait());
        }
        Ok(())
    }

    fn take_spec(&mut self) -> SpecChange {
        let Some(spec) = self.sources.specs.borrow().as_ref().map(|spec| EngineSpec::of(spec, L::ENGINE)) else {
            return SpecChange::None;
        };
        let last = self.spec.replace(spec);
        let (Some(last), Some(spec)) = (&last, &self.spec) else {
            self.spec_is_known = false;
            return SpecChange::Work;
        };
        if last.networks != spec.networks {
            self.spec_is_known = false;
            self.inherited = None;
        }
        if !last.asks_for_the_same(spec) {
            SpecChange::Work
        } else if last.node != spec.node {
            SpecChange::Numbers
        } else {
            SpecChange::None
        }
    }

    /// What was reported last is true of the present spec too.
    fn confirm_spec(&mut self) {
        let Some((facts, spec)) = self.posted.as_mut().zip(self.spec.as_ref()) else { return };
        if facts.spec.as_ref() != Some(&spec.node) {
            facts.spec = Some(Arc::clone(&spec.node));
            self.shared.board.borrow_mut().post(L::ENGINE, facts.clone());
        }
    }

    /// The engine as it is now; none while it is not known yet whether it answers.
    ///
    /// # Errors
    /// When its socket can never come back.
    pub(super) async fn look(&mut self) -> Result<Option<EngineView>, FolderGone> {
        let sight = self.link.look().await;
        let now = Instant::now();
        let view = match sight {
            Sight::Up(engine) => {
                self.arrive(now);
                self.alarms.look_at = self.link.look_again();
                self.alarms.not_before = Some(now + L::PAUSE);
                EngineView::Up(engine)
            }
            Sight::NotActing { message } => {
                self.alarms.look_at = self.link.look_again();
                self.alarms.not_before = None;
                EngineView::Down(Outage { reason: NOT_ACTING, message })
            }
            Sight::Disconnected { message, is_first_try } => {
                check_folder(L::ENGINE, self.link.socket())?;
                self.alarms.look_at = Some(now + CHECK_FOLDER);
                self.alarms.not_before = None;
                if is_first_try && now < self.started + FIRST_ANSWER {
                    return Ok(None);
                }
                let was_there = self.shared.memory.borrow().has_seen(L::ENGINE);
                let reason = if was_there { DISCONNECTED } else { NEVER_SEEN };
                EngineView::Down(Outage { reason, message })
            }
        };
        self.chronicle.engine(&view);
        Ok(Some(view))
    }

    /// Takes in that the engine may be another one than before.
    fn arrive(&mut self, now: Instant) {
        let Some(arrival) = self.link.take_arrival() else { return };
        let kept = self.shared.memory.borrow_mut().keep_connection(L::ENGINE, arrival.is_new_life);
        self.chronicle.problem("engines", kept.err().as_ref());
        self.replay.begin(now);
        self.restarted = arrival.is_new_life;
        self.settled = None;
        self.failures.clear();
    }
}
