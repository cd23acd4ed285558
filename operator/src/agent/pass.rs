//! One pass of a lane: observe, plan, apply, verify, report, in this order, from what the engine should have to what it has.

use super::apply::{self, Occasion};
use super::guard::{Guard, attachment_of};
use super::journaled::Journaled;
use super::lane::Lane;
use super::link::Link;
use super::observe::{EngineUp, EngineView, Outage};
use super::plan;
use super::publish::{self, Access, Files};
use super::recorder::{Aftermath, Attempt, Cause, Failure, Now};
use super::report::{self, EngineFacts, Facts};
use super::spec::EngineSpec;
use super::verify::{self, Evidence, Verdict};
use super::wake::Wake;
use crate::error_chain::ErrorChain;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use usnet_crds::{NetworkName, NodeNetwork};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Blocker, Op, blockers};
use usnet_dataplane::{journal, network_file};

/// Why a pass ended before its end. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The journal cannot be read, so it is not known which pods are attached.
    #[error("the attachments of this node are not known")]
    Journal(#[from] journal::Error),
    /// A network file cannot be written.
    #[error("the plugin cannot be told what it may attach to")]
    NetworkFile(#[from] network_file::Error),
}

/// What a pass came to.
#[derive(Debug)]
pub(super) struct Outcome {
    /// What the API server is told.
    pub facts: EngineFacts,
    /// Whether something is left that only time or somebody else can mend.
    pub retry: bool,
}

/// What the steps from plan to verify found out.
struct Achieved {
    verdicts: BTreeMap<NetworkName, Verdict>,
    obstacles: BTreeMap<NetworkName, Blocker>,
    records: Vec<Record>,
    view: EngineView,
    retry: bool,
}

/// What became of the operations of a pass.
struct Applied {
    attempts: Vec<Attempt>,
    /// Trouble with the engine as a whole.
    trouble: Option<String>,
}

/// What a plan was made of, and what it holds locked.
struct Planned {
    desired: Desired,
    operations: Vec<Op>,
    guard: Guard,
}

impl<L: Link> Lane<L> {
    /// One pass with the engine as it was just seen.
    ///
    /// # Errors
    /// When a file of ours cannot be used.
    pub(super) async fn pass(&mut self, view: EngineView, wake: Wake) -> Result<Outcome, Error> {
        let journal = self.shared.reader.borrow_mut().read(L::ENGINE)?;
        let achieved = match (self.spec.clone(), view) {
            (Some(spec), EngineView::Up(engine)) => self.bring_about(&spec, engine, journal, wake).await?,
            (spec, view) => self.wait_for_better_times(spec.as_ref(), view, journal)?,
        };
        self.spec_is_known = true;
        let facts = report::report(Facts {
            engine: L::ENGINE,
            spec: self.spec.as_ref(),
            verdicts: &achieved.verdicts,
            obstacles: &achieved.obstacles,
            records: &achieved.records,
            view: &achieved.view,
            epoch: self.shared.memory.borrow().epoch(L::ENGINE),
        });
        self.settled = (!achieved.retry).then_some(achieved.view);
        Ok(Outcome { facts, retry: achieved.retry })
    }

    /// Without an engine or without a spec nothing can be done, but the plugin is told why.
    fn wait_for_better_times(
        &mut self,
        spec: Option<&EngineSpec>,
        view: EngineView,
        journal: Journaled,
    ) -> Result<Achieved, Error> {
        let mut verdicts = BTreeMap::new();
        if let (Some(spec), EngineView::Down(outage)) = (spec, &view) {
            verdicts = report::verdicts_of_outage(spec, outage);
            self.publish(spec, &self.files(spec, &verdicts))?;
        }
        Ok(Achieved { verdicts, obstacles: BTreeMap::new(), records: journal.records, view, retry: false })
    }

    /// Plan, apply, verify.
    async fn bring_about(
        &mut self,
        spec: &EngineSpec,
        engine: EngineUp,
        mut journal: Journaled,
        wake: Wake,
    ) -> Result<Achieved, Error> {
        let mut planned = self.plan(spec, &engine.observed, &mut journal)?;
        let operations = self.hold_back(std::mem::take(&mut planned.operations), wake.retry);
        let mut working =
            publish::while_working(self.shared.publisher.borrow().shown(), &planned.desired.networks, &operations);
        working.extend(publish::refusals(&spec.refused));
        self.publish(spec, &working)?;

        let is_idle = operations.is_empty();
        let cause = self.cause(spec, wake.since);
        let Applied { attempts, trouble } = self.apply(operations, wake.since).await;
        // A folder that is gone for ever is found by the next look as well.
        let view = if is_idle { Some(EngineView::Up(engine)) } else { self.look().await.unwrap_or_default() };
        match view.unwrap_or_else(|| EngineView::Down(Outage::unknown(L::ENGINE))) {
            EngineView::Up(engine) => {
                let (achieved, left) = self.verify(spec, &planned, engine, journal, trouble.as_deref())?;
                let (desired, verdicts) = (&planned.desired, &achieved.verdicts);
                self.record(attempts, cause, Some(Aftermath { desired, left: &left, verdicts }));
                Ok(achieved)
            }
            down @ EngineView::Down(_) => {
                self.record(attempts, cause, None);
                self.wait_for_better_times(Some(spec), down, journal)
            }
        }
    }

    fn cause(&self, spec: &EngineSpec, since: Instant) -> Cause {
        let restarted = self.restarted && self.replay.is_running();
        Cause {
            is_new_spec: !self.spec_is_known,
            is_inherited: self.inherited.as_ref() == Some(&spec.networks),
            restarted: restarted.then(|| self.shared.memory.borrow().epoch(L::ENGINE)),
            since,
        }
    }

    /// Puts what was done into the history of the node. Work goes on without it.
    fn record(&mut self, attempts: Vec<Attempt>, cause: Cause, aftermath: Option<Aftermath<'_>>) {
        let now = Now { instant: Instant::now(), time: MicroTime(Timestamp::now()) };
        let mut changes = self.recorder.changes(attempts, cause, aftermath, now);
        for change in &mut changes {
            change.generation = self
                .spec
                .as_ref()
                .zip(change.network.as_deref())
                .and_then(|(spec, network)| spec.generation_of(network));
        }
        let written = if changes.is_empty() { Ok(()) } else { self.shared.history.borrow_mut().append(&changes) };
        self.chronicle.problem("history", written.as_ref().err());
    }

    /// Plans twice: once to know which attachments to lock, and again with their records as they are under the locks.
    fn plan(&self, spec: &EngineSpec, observed: &Observed, journal: &mut Journaled) -> Result<Planned, Error> {
        let plan = |journal: &Journaled| {
            let desired =
                Desired::new(spec.networks.iter().map(|network| NodeNetwork::clone(network)), &journal.records);
            let operations = plan::operations(&desired, observed, journal.known());
            (desired, operations)
        };
        let (desired, draft) = plan(journal);
        let to_lock = plan::attachments_to_lock(&draft, &journal.records);
        if to_lock.is_empty() {
            return Ok(Planned { desired, operations: draft, guard: Guard::default() });
        }
        let guard = Guard::take(&self.shared.journal, &to_lock)?;
        guard.read_again(&mut journal.records)?;
        let (desired, operations) = plan(journal);
        Ok(Planned { desired, operations: plan::leave_alone(operations, guard.busy()), guard })
    }

    /// Leaves out what failed before, unless it is time to try it again. Forgets failures of what is not to be done any more.
    fn hold_back(&mut self, mut operations: Vec<Op>, retry: bool) -> Vec<Op> {
        self.failures.retain(|(failed, _)| !retry && operations.contains(failed));
        operations.retain(|operation| !self.failures.iter().any(|(failed, _)| failed == operation));
        operations
    }

    /// Carries out the operations.
    async fn apply(&mut self, operations: Vec<Op>, since: Instant) -> Applied {
        let intact = if self.spec_is_known { self.chronicle.programmed() } else { BTreeSet::new() };
        let occasion = Occasion {
            engine: L::ENGINE,
            metrics: &self.shared.metrics,
            since,
            intact: &intact,
            is_replay: self.replay.is_running(),
        };
        let results = apply::apply(&mut self.link.driver(), &operations, occasion).await;
        if let Err(error) = &results {
            self.link.gave_up(error);
        }
        self.chronicle.problem("engine", results.as_ref().err());
        match results {
            Ok(results) => {
                let attempts =
                    operations.into_iter().zip(results).map(|(operation, result)| self.attempt(operation, result));
                Applied { attempts: attempts.collect(), trouble: None }
            }
            Err(error) => {
                let trouble = ErrorChain(&error).to_string();
                let failed = |operation| Attempt { operation, failure: Some(Failure::of_all(&trouble)) };
                Applied { attempts: operations.into_iter().map(failed).collect(), trouble: Some(trouble) }
            }
        }
    }

    fn attempt(&mut self, operation: Op, result: Result<(), OpError>) -> Attempt {
        let failure = result.as_ref().err().map(Failure::of);
        match result {
            Ok(()) => self.replay.made(usize::from(matches!(operation, Op::CreatePort { .. }))),
            Err(error) => self.failures.push((operation.clone(), error)),
        }
        Attempt { operation, failure }
    }

    /// Beside what was achieved, what is left to be done.
    fn verify(
        &mut self,
        spec: &EngineSpec,
        planned: &Planned,
        engine: EngineUp,
        mut journal: Journaled,
        trouble: Option<&str>,
    ) -> Result<(Achieved, Vec<Op>), Error> {
        let Planned { desired, guard, .. } = planned;
        let left = plan::operations(desired, &engine.observed, journal.known());
        finish_detached(&engine.observed, &left, &mut journal, guard)?;
        let obstacles = blockers(desired, &engine.observed);
        // What is recorded but does not run is not left to be done: the engine itself says why, now and later.
        self.failures.retain(|(failed, _)| left.contains(failed));
        self.chronicle.failures(&self.failures);
        let verdicts = verify::judge(Evidence {
            engine: L::ENGINE,
            desired,
            observed: &engine.observed,
            left: &left,
            obstacles: &obstacles,
            failures: &self.failures,
            trouble,
        });
        self.publish(spec, &self.files(spec, &verdicts))?;
        self.chronicle.networks(&verdicts);
        let retry = !left.is_empty() || trouble.is_some() || guard.is_incomplete() || !journal.complete;
        if left.is_empty() && trouble.is_none() {
            self.tell_replay();
        }
        let achieved = Achieved { verdicts, obstacles, records: journal.records, view: EngineView::Up(engine), retry };
        Ok((achieved, left))
    }

    fn tell_replay(&mut self) {
        if let Some((ports, took)) = self.replay.end(Instant::now()) {
            let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(ports, milliseconds, "lost ports are back since {} was connected to", L::ENGINE);
        }
    }

    fn files(&self, spec: &EngineSpec, verdicts: &BTreeMap<NetworkName, Verdict>) -> Files {
        let access = Access {
            engine_socket: self.link.socket(),
            epoch: self.shared.memory.borrow().epoch(L::ENGINE),
            memif_socket_ids: self.shared.memif_socket_ids,
        };
        let mut files = publish::after_reading(spec.networks.iter().map(AsRef::as_ref), verdicts, access);
        files.extend(publish::refusals(&spec.refused));
        files
    }

    fn publish(&self, spec: &EngineSpec, files: &Files) -> Result<(), network_file::Error> {
        self.shared.publisher.borrow_mut().publish(files, &spec.elsewhere)
    }
}

/// A DEL that had to leave its port: the record goes once the engine has no port of it. A DEL that was stopped earlier keeps its record, because
/// only the next one can give back addresses and mount.
fn finish_detached(
    observed: &Observed,
    left: &[Op],
    journal: &mut Journaled,
    guard: &Guard,
) -> Result<(), journal::Error> {
    let ports =
        observed.bridges.values().flat_map(|bridge| bridge.ports.values()).chain(observed.unbridged_ports.values());
    let mut kept: BTreeSet<String> = ports.filter_map(|port| Some(port.owner.as_ref()?.attachment.clone())).collect();
    // A port that was never marked is known only to the plan.
    kept.extend(left.iter().filter_map(attachment_of));
    let mut finished = BTreeSet::new();
    for record in journal.records.iter().filter(|record| record.progress == Progress::Detached) {
        let attachment = record.id.to_string();
        if !kept.contains(&attachment) && guard.remove_record(&attachment)? {
            tracing::info!(network = %record.network, attachment, pod = %record.pod, "detached");
            finished.insert(record.id.clone());
        }
    }
    journal.records.retain(|record| !finished.contains(&record.id));
    Ok(())
}
