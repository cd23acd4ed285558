//! The reconciler of one engine: its state, and the steps of one reconcile.

use super::agent_state::AgentState;
use super::apply::{self, ApplyContext, FailedOperations};
use super::gateway_holds::GatewayHolds;
use super::journal::{JournalSnapshot, finish_detached};
use super::links::{self, EngineLinks, LinkContext, UplinkEvidence};
use super::observer::{Observation as EngineObservation, ObservationTimes, Observer};
use super::plan::{self, DesiredState};
use super::publish::{self, Access, Files};
use super::schedule::wake::Wake;
use super::steps::{AfterApply, Applied, Error, Outcome, Planned, Reconciled};
use super::taken_over::add_taken_over;
use super::verify::{self, Evidence, Programs};
use crate::engines::{EngineWatcher, Reconnected, SocketFolderDeleted, Supervised};
use crate::model::engine_view::{EngineUp, EngineView, Outage};
use crate::model::health::NetworkHealth;
use crate::model::spec::{EngineSpec, SpecChange};
use crate::report::engine_report::{self, Facts};
use crate::report::history_recorder::{Attempt, HistoryRecorder, Now, Observation};
use crate::report::replay::Replay;
use crate::report::transition_log::TransitionLog;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use usnet_crds::{NetworkName, NodeNetwork, UplinkName};
use usnet_dataplane::attachment::{AttachmentId, Record};
use usnet_dataplane::network_file;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::plan::{Cause, Op, PlanContext, SpecOrigin, blockers};

/// The state of the reconciler of one engine.
#[derive(Debug)]
pub(super) struct EngineReconciler<W> {
    agent_state: Rc<AgentState>,
    observer: Observer<W>,
    spec: Option<EngineSpec>,
    transition_log: TransitionLog,
    replay: Replay,
    /// Whether the engine was restarted before the current connection.
    restarted: bool,
    history_recorder: HistoryRecorder,
    /// The networks in the spec of the earlier agent: what is missing of them was lost since then.
    inherited: Option<Vec<Arc<NodeNetwork>>>,
    failures: FailedOperations,
    /// Whether the last reconcile had the same spec, so that what is missing now is drift.
    spec_is_known: bool,
    /// The attachments that had their port at the end of the last reconcile.
    attached: BTreeSet<AttachmentId>,
    programs: Programs,
    /// When the report may change although the engine does not.
    report_at: Option<Instant>,
    links: EngineLinks,
    gateway_holds: GatewayHolds,
    /// The observed engine after a reconcile that left nothing to do. While it stays the same there
    /// is no work.
    converged: Option<EngineView>,
}

impl<W: EngineWatcher> EngineReconciler<W> {
    /// A reconciler that has not observed its engine yet. `inherited` is the spec that an earlier
    /// agent left on disk.
    pub(super) fn new(
        watcher: W,
        agent_state: Rc<AgentState>,
        inherited: Option<EngineSpec>,
        paths: &NodePaths,
    ) -> Self {
        Self {
            agent_state,
            observer: Observer::new(watcher, Supervised::of(W::ENGINE, paths)),
            spec: None,
            transition_log: TransitionLog::new(W::ENGINE),
            replay: Replay::default(),
            restarted: false,
            history_recorder: HistoryRecorder::new(W::ENGINE),
            inherited: inherited.map(|spec| spec.networks),
            failures: FailedOperations::default(),
            spec_is_known: false,
            attached: BTreeSet::new(),
            programs: Programs::of(W::ENGINE),
            report_at: None,
            links: EngineLinks::new(W::ENGINE, paths),
            gateway_holds: GatewayHolds::default(),
            converged: None,
        }
    }

    /// Whether the devices of networks changed since the last reconcile.
    pub(super) async fn have_links_changed(&self) -> bool {
        self.links.have_changed().await
    }

    /// The current spec; none before the first.
    pub(super) fn spec(&self) -> Option<&EngineSpec> {
        self.spec.as_ref()
    }

    /// Replaces the spec; returns how it differs from the last one.
    pub(super) fn set_spec(&mut self, spec: EngineSpec) -> SpecChange {
        let last = self.spec.as_ref();
        let change = last.map_or(SpecChange::Networks, |last| spec.change_since(last));
        if last.is_none_or(|last| last.networks != spec.networks) {
            self.spec_is_known = false;
        }
        if last.is_some_and(|last| last.networks != spec.networks) {
            self.inherited = None;
        }
        self.spec = Some(spec);
        change
    }

    /// Whether the last reconcile left nothing to do or to report, given this observation.
    pub(super) fn has_converged(&self, view: &EngineView) -> bool {
        self.converged.as_ref() == Some(view) && self.report_at.is_none_or(|at| at > Instant::now())
    }

    pub(super) fn observation_times(&self) -> ObservationTimes {
        let times = self.observer.times();
        ObservationTimes { observe_at: times.observe_at.into_iter().chain(self.report_at).min(), ..times }
    }

    /// Observes the engine; none while the first attempt to connect is still under way.
    pub(super) async fn observe(&mut self) -> Result<Option<EngineView>, SocketFolderDeleted> {
        let observation = self.observer.observe(&self.agent_state).await?;
        Ok(observation.map(|observation| self.on_observation(observation)))
    }

    /// Returns the last observation of the engine, if that still holds.
    pub(super) fn unchanged_view(&self) -> Option<EngineView> {
        self.converged.as_ref().filter(|_| self.observer.watcher.is_unchanged()).cloned()
    }

    fn on_observation(&mut self, observation: EngineObservation) -> EngineView {
        if let Some(reconnected) = observation.reconnected {
            self.on_reconnect(reconnected);
        }
        self.transition_log.engine(&observation.view);
        let end = self.programs.on_observation(&observation.view, observation.reconnected, Instant::now());
        self.transition_log.end(end);
        observation.view
    }

    /// Called after a new connection: the engine may have been restarted, and may have lost
    /// everything.
    fn on_reconnect(&mut self, reconnected: Reconnected) {
        let saved =
            self.agent_state.persisted_state.update(|state| state.save_connection(W::ENGINE, reconnected.restarted));
        self.transition_log.problem("node file", saved.err().as_ref());
        self.replay.start(Instant::now());
        self.restarted = reconnected.restarted;
        self.converged = None;
        self.failures.clear();
    }

    /// Runs one reconcile, with the engine as it was just observed.
    pub(super) async fn reconcile(&mut self, view: EngineView, wake: Wake) -> Result<Outcome, Error> {
        self.converged = None;
        let result = self.reconcile_from(view, wake).await;
        self.transition_log.problem("reconcile", result.as_ref().err());
        result
    }

    async fn reconcile_from(&mut self, view: EngineView, wake: Wake) -> Result<Outcome, Error> {
        let journal = self.agent_state.journal_reader.update(|reader| reader.read(W::ENGINE))?;
        let reconciled = match (self.spec.clone(), view) {
            (Some(spec), EngineView::Up(engine)) => self.converge(&spec, engine, journal, wake).await?,
            (spec, view) => self.report_engine_down(spec.as_ref(), view, journal)?,
        };
        self.spec_is_known = true;
        let now = Instant::now();
        let mut degraded = reconciled.degraded;
        let missing = self.links.missing_ends(&reconciled.records).await;
        // A port that the engine does not run has no connected program either.
        for (id, cause) in self.programs.update(&reconciled.records, &reconciled.view, &missing, now) {
            degraded.entry(id).or_insert(cause);
        }
        for (id, cause) in verify::without_af_xdp(&reconciled.records) {
            degraded.entry(id).or_insert(cause);
        }
        self.report_at = self.programs.next_due(now).into_iter().chain(self.gateway_holds.next_end(now)).min();
        let facts = engine_report::report(Facts {
            engine: W::ENGINE,
            spec: self.spec.as_ref(),
            network_health: &reconciled.network_health,
            blockers: &reconciled.blockers,
            kept_bridges: &reconciled.kept_bridges,
            uplinks: &reconciled.uplinks,
            degraded: &degraded,
            last_end: self.programs.last_end(),
            records: &reconciled.records,
            view: &reconciled.view,
            epoch: self.epoch(),
        });
        self.converged = (!reconciled.retry).then_some(reconciled.view);
        Ok(Outcome { facts, retry: reconciled.retry })
    }

    /// Reports that nothing can be programmed without the engine or a spec. The network files say
    /// so, so that an ADD fails with the reason.
    fn report_engine_down(
        &mut self,
        spec: Option<&EngineSpec>,
        view: EngineView,
        journal: JournalSnapshot,
    ) -> Result<Reconciled, Error> {
        let mut network_health = BTreeMap::new();
        if let (Some(spec), EngineView::Down(outage)) = (spec, &view) {
            network_health = engine_report::health_during_outage(spec, outage);
            self.publish(spec, &self.files(spec, &network_health, &BTreeMap::new(), None))?;
        }
        Ok(Reconciled::without_engine(network_health, journal.records, view))
    }

    /// Plans, applies and verifies.
    async fn converge(
        &mut self,
        spec: &EngineSpec,
        engine: EngineUp,
        mut journal: JournalSnapshot,
        wake: Wake,
    ) -> Result<Reconciled, Error> {
        let target = (W::ENGINE, self.observer.watcher.socket());
        add_taken_over(&self.agent_state, target, &spec.networks, &engine.observed, &mut journal)?;
        let plan_context = self.plan_context(spec);
        let agent_state = Rc::clone(&self.agent_state);
        let AgentState { metrics, isolation, .. } = agent_state.as_ref();
        let link_context = LinkContext { metrics, isolation, plan: &plan_context, since: wake.since };
        let links = self.links.prepare(spec, &engine.observed, link_context).await?;
        let (devices, uplinks) = (&links.joinable, &links.uplinks);
        let held_gateways = &self.gateway_holds.update(&engine.observed.routing, Instant::now());
        let (networks, context) = (&spec.networks, &plan_context);
        let desired = DesiredState { networks, devices, uplinks, held_gateways, context };
        let mut planned = desired.plan(&engine.observed, &mut journal, &self.agent_state.journal)?;
        let due = self.failures.skip_backed_off(std::mem::take(&mut planned.operations), wake.retry);
        let (operations, causes): (Vec<Op>, Vec<Cause>) = due.into_iter().map(|due| (due.op, due.cause)).unzip();
        let mut interim = self.agent_state.publisher.read(|publisher| {
            publish::files_during_apply(publisher.published(), &planned.desired.networks, &operations)
        });
        interim.extend(publish::refusals(&spec.refused));
        self.publish(spec, &interim)?;

        let Applied { attempts, engine_error } = self.apply(&operations, causes, &journal.records, wake.since).await;
        let view = self.observe_changed(engine, &operations, engine_error.is_some()).await;
        match view.unwrap_or_else(|| EngineView::Down(Outage::unknown(W::ENGINE))) {
            EngineView::Up(engine) => {
                let joined = links::joined(&engine.observed);
                self.links.release_nics(&links.uplinks, &engine.observed, link_context).await?;
                self.links.set_addresses(&links.uplinks, link_context).await?;
                let after = AfterApply { engine, journal, links: &links, engine_error: engine_error.as_deref() };
                let (mut reconciled, remaining) = self.verify(spec, &planned, after)?;
                reconciled.retry |= links.retry;
                self.links.finish(links, &joined, link_context).await?;
                let (desired, network_health) = (&planned.desired, &reconciled.network_health);
                let observation = Observation { desired, remaining: &remaining, network_health };
                self.record(attempts, wake.since, Some(observation));
                Ok(reconciled)
            }
            down @ EngineView::Down(_) => {
                self.record(attempts, wake.since, None);
                self.report_engine_down(Some(spec), down, journal)
            }
        }
    }

    /// Observes the engine after these operations.
    async fn observe_changed(&mut self, before: EngineUp, operations: &[Op], is_unknown: bool) -> Option<EngineView> {
        if operations.is_empty() {
            return Some(EngineView::Up(before));
        }
        let before = (!is_unknown).then_some(before);
        let observation = self.observer.observe_changed(before, operations, &self.agent_state).await;
        // The next observation detects a deleted socket folder as well; here the result still has
        // to be recorded.
        observation.unwrap_or_default().map(|observation| self.on_observation(observation))
    }

    /// What the planner needs to distinguish causes.
    fn plan_context(&self, spec: &EngineSpec) -> PlanContext {
        let is_inherited = self.inherited.as_ref() == Some(&spec.networks);
        let restarted = self.restarted && self.replay.is_running();
        PlanContext {
            spec: match (self.spec_is_known, is_inherited) {
                (true, _) => SpecOrigin::Known,
                (false, true) => SpecOrigin::Inherited,
                (false, false) => SpecOrigin::New,
            },
            programmed: self.transition_log.programmed(),
            programmed_uplinks: self.links.programmed_uplinks(),
            attached: self.attached.clone(),
            restarted: restarted.then(|| self.epoch()),
            unresolved: self.history_recorder.unresolved(),
        }
    }

    /// Appends what was done to the history of the node. A failed write does not fail the
    /// reconcile.
    fn record(&mut self, attempts: Vec<Attempt>, since: Instant, observation: Option<Observation<'_>>) {
        let now = Now { instant: Instant::now(), time: MicroTime(Timestamp::now()) };
        let mut changes = self.history_recorder.changes(attempts, since, observation, now);
        for change in &mut changes {
            let known = self.spec.as_ref().zip(change.network.as_deref());
            change.generation = known.and_then(|(spec, network)| spec.generation_of(network));
        }
        let written = if changes.is_empty() {
            Ok(())
        } else {
            self.agent_state.history.update(|history| history.append(&changes))
        };
        self.transition_log.problem("history", written.as_ref().err());
    }

    async fn apply(&mut self, operations: &[Op], causes: Vec<Cause>, records: &[Record], since: Instant) -> Applied {
        let context = ApplyContext {
            engine: W::ENGINE,
            metrics: &self.agent_state.metrics,
            records,
            since,
            is_replay: self.replay.is_running(),
        };
        let results = apply::apply(&mut self.observer.watcher.driver(), operations, &causes, context).await;
        if let Err(error) = &results {
            self.observer.watcher.on_engine_error(error);
        }
        self.transition_log.problem("engine", results.as_ref().err());
        for (operation, result) in operations.iter().zip(results.iter().flatten()) {
            match result {
                Ok(()) => self.replay.count_created(usize::from(matches!(operation, Op::CreatePort { .. }))),
                Err(error) => self.failures.add(operation.clone(), error.clone()),
            }
        }
        apply::attempts(operations, causes, results)
    }

    /// Verifies the engine; returns the result and the operations that remain to be done.
    fn verify(
        &mut self,
        spec: &EngineSpec,
        planned: &Planned,
        after: AfterApply<'_>,
    ) -> Result<(Reconciled, Vec<Op>), Error> {
        let AfterApply { engine, mut journal, links, engine_error } = after;
        let Planned { desired, locks, .. } = planned;
        let remaining = plan::remaining(desired, &engine.observed, &journal.unreadable);
        finish_detached(&engine.observed, &remaining, &mut journal, locks)?;
        let blockers = blockers(desired, &engine.observed);
        let kept_bridges = plan::kept_bridges(desired, &engine.observed, &journal.unreadable, &remaining);
        self.attached = plan::with_port(desired, &remaining);
        // A port that is configured but not running is no remaining operation: its state in the
        // engine says why.
        self.failures.retain_remaining(&remaining);
        self.transition_log.failures(self.failures.as_slice(), &journal.records);
        let evidence = Evidence {
            engine: W::ENGINE,
            desired,
            observed: &engine.observed,
            remaining: &remaining,
            blockers: &blockers,
            failures: self.failures.as_slice(),
            engine_error,
        };
        let (mut network_health, degraded) = (verify::evaluate(evidence), verify::degraded(evidence));
        links::apply_to(&mut network_health, &links.health);
        let evidence = UplinkEvidence { desired, observed: &engine.observed, failures: self.failures.as_slice() };
        let uplinks = self.links.verify_uplinks(&links.uplinks, evidence);
        links::apply_to(&mut network_health, &uplinks.network_health);
        self.gateway_holds.apply_to(&mut network_health, Instant::now());
        let problem = self.agent_state.state_problem.read(Clone::clone);
        if let Some(problem) = &problem {
            verify::without_writable_directories(&mut network_health, problem);
        }
        let published = {
            let numa_nodes = links.uplinks.numa_nodes();
            self.publish(spec, &self.files(spec, &network_health, &numa_nodes, Some(&engine.observed)))
        };
        let is_published = publish::unless_reported(published, problem.as_deref())?;
        self.transition_log.networks(&network_health);
        let is_complete = remaining.is_empty() && engine_error.is_none() && is_published;
        let retry =
            !is_complete || locks.has_contended() || !journal.unreadable.is_empty() || !uplinks.are_programmed();
        if remaining.is_empty() && engine_error.is_none() {
            self.transition_log.replayed(self.replay.finish(Instant::now()));
        }
        let (uplinks, records, view) = (uplinks.reports, journal.records, EngineView::Up(engine));
        Ok((Reconciled { network_health, blockers, uplinks, kept_bridges, degraded, records, view, retry }, remaining))
    }

    fn files(
        &self,
        spec: &EngineSpec,
        network_health: &BTreeMap<NetworkName, NetworkHealth>,
        numa_nodes: &BTreeMap<UplinkName, u32>,
        observed: Option<&Observed>,
    ) -> Files {
        let none = BTreeSet::new();
        let access = Access {
            engine_socket: self.observer.watcher.socket(),
            epoch: self.epoch(),
            memif_socket_ids: self.agent_state.memif_socket_ids,
            has_af_xdp: observed.is_none_or(|observed| observed.without_af_xdp.is_none()),
            finishing_bridges: observed.map_or(&none, |observed| &observed.finishing_bridges),
            numa_nodes,
        };
        let mut files = publish::files_after_observe(&spec.networks, network_health, access);
        files.extend(publish::refusals(&spec.refused));
        files
    }

    fn epoch(&self) -> u64 {
        self.agent_state.persisted_state.read(|state| state.epoch(W::ENGINE))
    }

    fn publish(&self, spec: &EngineSpec, files: &Files) -> Result<(), network_file::Error> {
        self.agent_state.publisher.update(|publisher| publisher.publish(files, &spec.networks_of_other_engines))
    }
}
