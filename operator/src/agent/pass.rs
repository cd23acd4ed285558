//! One pass: observe, plan, apply, verify, report, in this order, from what the node should have to what it has.

use super::apply::{self, Occasion};
use super::chronicle::Chronicle;
use super::guard::Guard;
use super::link::Link;
use super::memory::Memory;
use super::observe::{EngineUp, EngineView, Outage};
use super::plan::{self, Known};
use super::publish::{self, Files, Publisher};
use super::report::{self, Facts};
use super::spec::{NodeSpec, Report};
use super::verify::{self, Evidence, Verdict};
use super::wake::Wake;
use crate::error_chain::ErrorChain;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;
use usnet_crds::{Engine, NetworkName};
use usnet_dataplane::attachment::{Progress, Record};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::engine::OpError;
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::network_file;
use usnet_dataplane::observed::Observed;
use usnet_dataplane::plan::{Obstacle, Op, obstacles};

/// Everything on the node that a pass works with.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) spec: Option<NodeSpec>,
    pub(super) memory: Memory,
    pub(super) journal: Journal,
    pub(super) publisher: Publisher,
    pub(super) link: Link,
    pub(super) engine_socket: PathBuf,
    pub(super) chronicle: Chronicle,
    /// What failed when it was last tried. It is not tried again by every event, because a try is an event itself.
    pub(super) failures: Vec<(Op, OpError)>,
    /// Whether the last pass had the same spec, so that what is missing now is drift.
    pub(super) spec_is_known: bool,
}

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
    pub report: Report,
    /// Whether something is left that only time or somebody else can mend.
    pub retry: bool,
}

/// The journal as it was read.
struct Journaled {
    records: Vec<Record>,
    /// Whether all records could be read. If not, a port without a record may well belong to a pod.
    complete: bool,
}

impl Journaled {
    fn known(&self) -> Known<'_> {
        Known { records: &self.records, complete: self.complete }
    }
}

/// What the steps from plan to verify found out.
struct Achieved {
    verdicts: BTreeMap<NetworkName, Verdict>,
    obstacles: BTreeMap<NetworkName, Obstacle>,
    records: Vec<Record>,
    engine: EngineView,
    retry: bool,
}

impl Node {
    /// Takes over what the node should have from now on, and keeps it for the next start before anything is done about it.
    pub(super) fn take_spec(&mut self, spec: NodeSpec) {
        tracing::info!(generation = spec.generation, networks = spec.networks.len(), "new spec");
        self.chronicle.problem("spec", self.memory.keep_spec(&spec).err().as_ref());
        self.spec = Some(spec);
        self.spec_is_known = false;
    }

    /// One pass. None while it is not known yet whether the engine answers.
    ///
    /// # Errors
    /// When a file of ours cannot be used.
    pub(super) async fn pass(&mut self, wake: Wake) -> Result<Option<Outcome>, Error> {
        let Some(engine) = self.look() else { return Ok(None) };
        let journal::Records { records, unreadable } = self.journal.records()?;
        self.chronicle.unreadable_records(&unreadable);
        let journal = Journaled { records, complete: unreadable.is_empty() };
        let achieved = match (self.spec.clone(), engine) {
            (Some(spec), EngineView::Up(engine)) => self.bring_about(&spec, engine, journal, wake).await?,
            (spec, engine) => self.wait_for_better_times(spec.as_ref(), engine, journal)?,
        };
        self.spec_is_known = true;
        let report = report::report(Facts {
            spec: self.spec.as_ref(),
            verdicts: &achieved.verdicts,
            obstacles: &achieved.obstacles,
            records: &achieved.records,
            engine: &achieved.engine,
            epoch: self.memory.epoch(),
        });
        Ok(Some(Outcome { report, retry: achieved.retry }))
    }

    /// The engine as it is now; none while the first connection is being tried.
    fn look(&mut self) -> Option<EngineView> {
        let has_been_seen = self.memory.has_seen(Engine::OpenVswitch);
        let view = self.link.view(Instant::now(), has_been_seen)?;
        if let EngineView::Up(_) = view {
            let kept = self.memory.keep_connection(Engine::OpenVswitch, self.link.take_came_back());
            self.chronicle.problem("engines", kept.err().as_ref());
        }
        self.chronicle.engine(&view);
        Some(view)
    }

    /// Without an engine or without a spec nothing can be done, but the plugin is told why.
    fn wait_for_better_times(
        &mut self,
        spec: Option<&NodeSpec>,
        engine: EngineView,
        journal: Journaled,
    ) -> Result<Achieved, Error> {
        let mut verdicts = BTreeMap::new();
        if let (Some(spec), EngineView::Down(outage)) = (spec, &engine) {
            verdicts = report::verdicts_of_outage(spec, outage);
            self.publisher.publish(&self.files(spec, &verdicts))?;
        }
        Ok(Achieved { verdicts, obstacles: BTreeMap::new(), records: journal.records, engine, retry: false })
    }

    /// Plan, apply, verify.
    async fn bring_about(
        &mut self,
        spec: &NodeSpec,
        engine: EngineUp,
        mut journal: Journaled,
        wake: Wake,
    ) -> Result<Achieved, Error> {
        let (desired, operations, guard) = self.plan(spec, &engine.observed, &mut journal)?;
        let operations = self.hold_back(operations, wake.retry);
        let working = publish::while_working(self.publisher.shown(), &desired.networks, &operations);
        self.publisher.publish(&working)?;

        let is_idle = operations.is_empty();
        let trouble = self.apply(operations, wake.since).await;
        let engine = if is_idle { Some(EngineView::Up(engine)) } else { self.look() };
        match engine {
            Some(EngineView::Up(engine)) => self.verify(spec, &desired, engine, journal, (&guard, trouble)),
            Some(down) => self.wait_for_better_times(Some(spec), down, journal),
            None => self.wait_for_better_times(Some(spec), EngineView::Down(Outage::unknown()), journal),
        }
    }

    /// Plans twice: once to know which attachments to lock, and again with their records as they are under the locks.
    fn plan(
        &self,
        spec: &NodeSpec,
        observed: &Observed,
        journal: &mut Journaled,
    ) -> Result<(Desired, Vec<Op>, Guard), Error> {
        let plan = |journal: &Journaled| {
            let desired = Desired::new(spec.networks.clone(), &journal.records);
            let operations = plan::operations(&desired, observed, journal.known());
            (desired, operations)
        };
        let (_, draft) = plan(journal);
        let guard = Guard::take(&self.journal, &plan::attachments_to_lock(&draft, &journal.records))?;
        guard.read_again(&mut journal.records)?;
        let (desired, operations) = plan(journal);
        Ok((desired, plan::leave_alone(operations, guard.busy()), guard))
    }

    /// Leaves out what failed before, unless it is time to try it again. Forgets failures of what is not to be done any more.
    fn hold_back(&mut self, mut operations: Vec<Op>, retry: bool) -> Vec<Op> {
        self.failures.retain(|(failed, _)| !retry && operations.contains(failed));
        operations.retain(|operation| !self.failures.iter().any(|(failed, _)| failed == operation));
        operations
    }

    /// Carries out the operations. What comes back is trouble with the engine as a whole.
    async fn apply(&mut self, operations: Vec<Op>, since: Instant) -> Option<String> {
        let intact = if self.spec_is_known { self.chronicle.programmed() } else { BTreeSet::new() };
        let applied = apply::apply(&mut self.link.engine(), operations, Occasion { since, intact: &intact }).await;
        let trouble = match applied {
            Ok(failures) => {
                self.failures.extend(failures);
                None
            }
            Err(error) => {
                self.link.gave_up(&error);
                Some(error)
            }
        };
        self.chronicle.problem("engine", trouble.as_ref());
        trouble.map(|error| ErrorChain(&error).to_string())
    }

    fn verify(
        &mut self,
        spec: &NodeSpec,
        desired: &Desired,
        engine: EngineUp,
        mut journal: Journaled,
        (guard, trouble): (&Guard, Option<String>),
    ) -> Result<Achieved, Error> {
        self.finish_detached(&engine.observed, &mut journal, guard)?;
        let left = plan::operations(desired, &engine.observed, journal.known());
        let obstacles = obstacles(desired, &engine.observed);
        // What is recorded but does not run is not left to be done: the engine itself says why, now and later.
        self.failures.retain(|(failed, _)| left.contains(failed));
        self.chronicle.failures(&self.failures);
        let verdicts = verify::judge(Evidence {
            desired,
            observed: &engine.observed,
            left: &left,
            obstacles: &obstacles,
            failures: &self.failures,
            trouble: trouble.as_deref(),
        });
        self.publisher.publish(&self.files(spec, &verdicts))?;
        self.chronicle.networks(&verdicts);
        let retry = !left.is_empty() || trouble.is_some() || guard.is_incomplete() || !journal.complete;
        Ok(Achieved { verdicts, obstacles, records: journal.records, engine: EngineView::Up(engine), retry })
    }

    /// A DEL that had to leave its port: the record goes once the engine has no port of it. A DEL that was stopped earlier keeps its record, because
    /// only the next one can give back addresses and mount.
    fn finish_detached(&self, observed: &Observed, journal: &mut Journaled, guard: &Guard) -> Result<(), Error> {
        let ports: BTreeSet<&str> = observed
            .bridges
            .values()
            .flat_map(|bridge| bridge.ports.values())
            .filter_map(|port| Some(port.mark.as_ref()?.attachment.as_str()))
            .collect();
        let mut finished = BTreeSet::new();
        for record in journal.records.iter().filter(|record| record.progress == Progress::Detached) {
            let attachment = record.id.to_string();
            if !ports.contains(attachment.as_str()) && guard.remove_record(&attachment)? {
                tracing::info!(network = %record.network, attachment, pod = %record.pod, "detached");
                finished.insert(record.id.clone());
            }
        }
        journal.records.retain(|record| !finished.contains(&record.id));
        Ok(())
    }

    fn files(&self, spec: &NodeSpec, verdicts: &BTreeMap<NetworkName, Verdict>) -> Files {
        publish::after_reading(&spec.networks, verdicts, &self.engine_socket, self.memory.epoch())
    }
}
