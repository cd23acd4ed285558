//! One reconcile of an engine: observe, plan, apply, verify, report, in this order, from desired to
//! actual state.

use super::apply::{self, ApplyContext};
use super::attachment_locks::AttachmentLocks;
use super::journal_snapshot::JournalSnapshot;
use super::outcome::{Error, Outcome};
use super::plan;
use super::publish::{self, Access, Files};
use super::reconciler::EngineReconciler;
use super::verify::{self, Evidence};
use super::wake::Wake;
use crate::agent::engines::EngineWatcher;
use crate::agent::model::engine_view::{EngineUp, EngineView, Outage};
use crate::agent::model::health::NetworkHealth;
use crate::agent::model::spec::EngineSpec;
use crate::agent::report::engine_report::{self, Facts};
use crate::agent::report::history_recorder::{Attempt, Cause, Failure, Now, Observation};
use crate::display::ErrorChain;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Blocker, Op, blockers};
use usnet_dataplane::{journal, network_file};

/// The result of the steps from plan to verify.
struct Reconciled {
    network_health: BTreeMap<NetworkName, NetworkHealth>,
    blockers: BTreeMap<NetworkName, Blocker>,
    records: Vec<Record>,
    view: EngineView,
    retry: bool,
}

/// The results of the operations of one reconcile.
struct Applied {
    attempts: Vec<Attempt>,
    /// Why the engine as a whole did not answer.
    engine_error: Option<String>,
}

/// A plan, the desired state it was computed from, and the locks it holds.
struct Planned {
    desired: Desired,
    operations: Vec<Op>,
    locks: AttachmentLocks,
}

impl<W: EngineWatcher> EngineReconciler<W> {
    /// One reconcile with the engine as it was just observed.
    ///
    /// # Errors
    /// When one of usnet's files cannot be used.
    pub(crate) async fn reconcile(&mut self, view: EngineView, wake: Wake) -> Result<Outcome, Error> {
        let journal = self.agent_state.journal_reader.borrow_mut().read(W::ENGINE)?;
        let reconciled = match (self.spec.clone(), view) {
            (Some(spec), EngineView::Up(engine)) => self.converge(&spec, engine, journal, wake).await?,
            (spec, view) => self.report_engine_down(spec.as_ref(), view, journal)?,
        };
        self.spec_is_known = true;
        let facts = engine_report::report(Facts {
            engine: W::ENGINE,
            spec: self.spec.as_ref(),
            network_health: &reconciled.network_health,
            blockers: &reconciled.blockers,
            records: &reconciled.records,
            view: &reconciled.view,
            epoch: self.agent_state.persisted_state.borrow().epoch(W::ENGINE),
        });
        self.converged = (!reconciled.retry).then_some(reconciled.view);
        Ok(Outcome { facts, retry: reconciled.retry })
    }

    /// Without an engine or a spec nothing can be programmed, but the network files tell the plugin
    /// why.
    fn report_engine_down(
        &mut self,
        spec: Option<&EngineSpec>,
        view: EngineView,
        journal: JournalSnapshot,
    ) -> Result<Reconciled, Error> {
        let mut network_health = BTreeMap::new();
        if let (Some(spec), EngineView::Down(outage)) = (spec, &view) {
            network_health = engine_report::health_during_outage(spec, outage);
            self.publish(spec, &self.files(spec, &network_health))?;
        }
        Ok(Reconciled { network_health, blockers: BTreeMap::new(), records: journal.records, view, retry: false })
    }

    /// Plan, apply, verify.
    async fn converge(
        &mut self,
        spec: &EngineSpec,
        engine: EngineUp,
        mut journal: JournalSnapshot,
        wake: Wake,
    ) -> Result<Reconciled, Error> {
        let mut planned = self.plan(spec, &engine.observed, &mut journal)?;
        let operations = self.skip_backed_off(std::mem::take(&mut planned.operations), wake.retry);
        let mut interim = publish::files_during_apply(
            self.agent_state.publisher.borrow().published(),
            &planned.desired.networks,
            &operations,
        );
        interim.extend(publish::refusals(&spec.refused));
        self.publish(spec, &interim)?;

        let is_idle = operations.is_empty();
        let cause = self.cause(spec, wake.since);
        let Applied { attempts, engine_error } = self.apply(operations, wake.since).await;
        // A deleted socket folder is detected by the next observation as well.
        let view = if is_idle { Some(EngineView::Up(engine)) } else { self.observe().await.unwrap_or_default() };
        match view.unwrap_or_else(|| EngineView::Down(Outage::unknown(W::ENGINE))) {
            EngineView::Up(engine) => {
                let (reconciled, remaining) = self.verify(spec, &planned, engine, journal, engine_error.as_deref())?;
                let (desired, network_health) = (&planned.desired, &reconciled.network_health);
                self.record(attempts, cause, Some(Observation { desired, remaining: &remaining, network_health }));
                Ok(reconciled)
            }
            down @ EngineView::Down(_) => {
                self.record(attempts, cause, None);
                self.report_engine_down(Some(spec), down, journal)
            }
        }
    }

    fn cause(&self, spec: &EngineSpec, since: Instant) -> Cause {
        let restarted = self.restarted && self.replay.is_running();
        Cause {
            is_new_spec: !self.spec_is_known,
            is_inherited: self.inherited.as_ref() == Some(&spec.networks),
            restarted: restarted.then(|| self.agent_state.persisted_state.borrow().epoch(W::ENGINE)),
            since,
        }
    }

    /// Appends what was done to the history of the node. A failure to write does not stop the work.
    fn record(&mut self, attempts: Vec<Attempt>, cause: Cause, observation: Option<Observation<'_>>) {
        let now = Now { instant: Instant::now(), time: MicroTime(Timestamp::now()) };
        let mut changes = self.history_recorder.changes(attempts, cause, observation, now);
        for change in &mut changes {
            change.generation = self
                .spec
                .as_ref()
                .zip(change.network.as_deref())
                .and_then(|(spec, network)| spec.generation_of(network));
        }
        let written = if changes.is_empty() { Ok(()) } else { self.agent_state.history.borrow_mut().append(&changes) };
        self.transition_log.problem("history", written.as_ref().err());
    }

    /// Plans twice: once to know which attachments to lock, and again with their records as they are
    /// under the locks.
    fn plan(&self, spec: &EngineSpec, observed: &Observed, journal: &mut JournalSnapshot) -> Result<Planned, Error> {
        let plan = |journal: &JournalSnapshot| {
            let desired =
                Desired::new(spec.networks.iter().map(|network| NodeNetwork::clone(network)), &journal.records);
            let operations = plan::operations(&desired, observed, journal.view());
            (desired, operations)
        };
        let (desired, draft) = plan(journal);
        let to_lock = plan::attachments_to_lock(&draft, &journal.records);
        if to_lock.is_empty() {
            return Ok(Planned { desired, operations: draft, locks: AttachmentLocks::default() });
        }
        let locks = AttachmentLocks::acquire(&self.agent_state.journal, &to_lock)?;
        locks.reread(&mut journal.records)?;
        let (desired, operations) = plan(journal);
        Ok(Planned { desired, operations: plan::without_contended(operations, locks.contended()), locks })
    }

    /// Skips operations that failed before until their retry is due. Drops failures of operations
    /// that are no longer planned.
    fn skip_backed_off(&mut self, mut operations: Vec<Op>, retry: bool) -> Vec<Op> {
        self.failures.retain(|(failed, _)| !retry && operations.contains(failed));
        operations.retain(|operation| !self.failures.iter().any(|(failed, _)| failed == operation));
        operations
    }

    /// Carries out the operations.
    async fn apply(&mut self, operations: Vec<Op>, since: Instant) -> Applied {
        let intact = if self.spec_is_known { self.transition_log.programmed() } else { BTreeSet::new() };
        let context = ApplyContext {
            engine: W::ENGINE,
            metrics: &self.agent_state.metrics,
            since,
            intact: &intact,
            is_replay: self.replay.is_running(),
        };
        let results = apply::apply(&mut self.watcher.driver(), &operations, context).await;
        if let Err(error) = &results {
            self.watcher.on_engine_error(error);
        }
        self.transition_log.problem("engine", results.as_ref().err());
        match results {
            Ok(results) => {
                let attempts =
                    operations.into_iter().zip(results).map(|(operation, result)| self.attempt(operation, result));
                Applied { attempts: attempts.collect(), engine_error: None }
            }
            Err(error) => {
                let engine_error = ErrorChain(&error).to_string();
                let failed = |operation| Attempt { operation, failure: Some(Failure::of_all(&engine_error)) };
                Applied { attempts: operations.into_iter().map(failed).collect(), engine_error: Some(engine_error) }
            }
        }
    }

    fn attempt(&mut self, operation: Op, result: Result<(), OpError>) -> Attempt {
        let failure = result.as_ref().err().map(Failure::of);
        match result {
            Ok(()) => self.replay.count_created(usize::from(matches!(operation, Op::CreatePort { .. }))),
            Err(error) => self.failures.push((operation.clone(), error)),
        }
        Attempt { operation, failure }
    }

    /// Returns the result and the operations that remain to be done.
    fn verify(
        &mut self,
        spec: &EngineSpec,
        planned: &Planned,
        engine: EngineUp,
        mut journal: JournalSnapshot,
        engine_error: Option<&str>,
    ) -> Result<(Reconciled, Vec<Op>), Error> {
        let Planned { desired, locks, .. } = planned;
        let remaining = plan::operations(desired, &engine.observed, journal.view());
        finish_detached(&engine.observed, &remaining, &mut journal, locks)?;
        let blockers = blockers(desired, &engine.observed);
        // A port that is configured but not running is no remaining operation: its state in the
        // engine says why.
        self.failures.retain(|(failed, _)| remaining.contains(failed));
        self.transition_log.failures(&self.failures);
        let network_health = verify::evaluate(Evidence {
            engine: W::ENGINE,
            desired,
            observed: &engine.observed,
            remaining: &remaining,
            blockers: &blockers,
            failures: &self.failures,
            engine_error,
        });
        self.publish(spec, &self.files(spec, &network_health))?;
        self.transition_log.networks(&network_health);
        let retry = !remaining.is_empty() || engine_error.is_some() || locks.has_contended() || !journal.complete;
        if remaining.is_empty() && engine_error.is_none() {
            self.log_replay();
        }
        let reconciled =
            Reconciled { network_health, blockers, records: journal.records, view: EngineView::Up(engine), retry };
        Ok((reconciled, remaining))
    }

    fn log_replay(&mut self) {
        if let Some((ports, took)) = self.replay.finish(Instant::now()) {
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(ports, milliseconds, "lost ports are back since {} was connected to", W::ENGINE);
        }
    }

    fn files(&self, spec: &EngineSpec, network_health: &BTreeMap<NetworkName, NetworkHealth>) -> Files {
        let access = Access {
            engine_socket: self.watcher.socket(),
            epoch: self.agent_state.persisted_state.borrow().epoch(W::ENGINE),
            memif_socket_ids: self.agent_state.memif_socket_ids,
        };
        let mut files = publish::files_after_observe(spec.networks.iter().map(AsRef::as_ref), network_health, access);
        files.extend(publish::refusals(&spec.refused));
        files
    }

    fn publish(&self, spec: &EngineSpec, files: &Files) -> Result<(), network_file::Error> {
        self.agent_state.publisher.borrow_mut().publish(files, &spec.networks_of_other_engines)
    }
}

/// A DEL that had to leave its port behind: its record is removed once the engine has no port of
/// it. A DEL that was interrupted earlier keeps its record, because only the next DEL can release
/// addresses and mount.
fn finish_detached(
    observed: &Observed,
    remaining: &[Op],
    journal: &mut JournalSnapshot,
    locks: &AttachmentLocks,
) -> Result<(), journal::Error> {
    let ports =
        observed.bridges.values().flat_map(|bridge| bridge.ports.values()).chain(observed.unbridged_ports.values());
    let mut still_present: BTreeSet<&AttachmentId> =
        ports.filter_map(|port| port.owner.as_ref()?.attachment()).collect();
    // A port that has no ownership tag yet is known only to the plan.
    still_present.extend(remaining.iter().filter_map(Op::attachment));
    let mut finished = BTreeSet::new();
    for record in journal.records.iter().filter(|record| record.progress == Progress::Detached) {
        let attachment = &record.id;
        if !still_present.contains(attachment) && locks.remove_record(attachment)? {
            tracing::info!(network = %record.network, %attachment, pod = %record.pod, "detached");
            finished.insert(record.id.clone());
        }
    }
    journal.records.retain(|record| !finished.contains(&record.id));
    Ok(())
}
