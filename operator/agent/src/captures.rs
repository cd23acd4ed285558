//! Removes what captures left in the engines: their program was killed, or its engine was down when
//! it ended.
//!
//! A running capture holds a lock. While the folder of captures describes none, a pass checks for a
//! few files and nothing else. After the start of the agent each engine is searched once, because
//! Open vSwitch keeps mirrors across a reboot.

use crate::reconcile::agent_state::AgentState;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_dataplane::capture::lease::{Description, Lease, Leases};
use usnet_dataplane::capture::{CaptureNumber, Captures};
use usnet_dataplane::paths::NodePaths;
use usnet_node::history_file::{Cause, Change, Outcome};

/// How often it is checked whether a capture left something.
const INTERVAL: Duration = Duration::from_secs(3);

/// Cleans up after captures.
#[derive(Debug)]
pub(crate) struct CaptureCleanup {
    agent_state: Rc<AgentState>,
    paths: NodePaths,
    /// The engines that have not been searched yet.
    unsearched: BTreeSet<EngineKind>,
    /// The problem that was logged last, so that it is logged once.
    problem: Option<String>,
}

/// The result of one pass.
#[derive(Debug, Default)]
struct Pass {
    removed: Vec<Removed>,
    /// The engines that were searched.
    searched: BTreeSet<EngineKind>,
    /// Why something of a capture may be left.
    problem: Option<String>,
}

/// A capture whose objects were removed from an engine.
#[derive(Debug)]
struct Removed {
    engine: EngineKind,
    number: CaptureNumber,
    description: Option<Description>,
}

impl CaptureCleanup {
    pub(crate) fn new(paths: &NodePaths, agent_state: Rc<AgentState>) -> Self {
        Self { agent_state, paths: paths.clone(), unsearched: EngineKind::ALL.into(), problem: None }
    }

    /// Runs indefinitely.
    pub(crate) async fn follow(mut self) -> Infallible {
        loop {
            self.pass().await;
            sleep(INTERVAL).await;
        }
    }

    async fn pass(&mut self) {
        let has_engine = |engine: &&EngineKind| self.paths.engine_socket(**engine).exists();
        let unsearched: BTreeSet<EngineKind> = self.unsearched.iter().filter(has_engine).copied().collect();
        if unsearched.is_empty() && Leases::new(&self.paths).described().is_empty() {
            return;
        }
        let (paths, since) = (self.paths.clone(), Instant::now());
        // An engine that hangs must not hold up the reconcilers.
        let Ok(pass) = spawn_blocking(move || clean(&paths, &unsearched)).await else { return };
        self.unsearched.retain(|engine| !pass.searched.contains(engine));
        self.record(&pass.removed, since.elapsed());
        if pass.problem != self.problem {
            if let Some(problem) = &pass.problem {
                tracing::warn!(problem, "cannot remove what a capture left; retrying");
            }
            self.problem = pass.problem;
        }
    }

    fn record(&self, removed: &[Removed], took: Duration) {
        let changes: Vec<Change> = removed.iter().map(|removed| removed.change(took)).collect();
        for change in &changes {
            tracing::warn!(operation = change.operation, "the program of a capture ended without removing it");
        }
        if changes.is_empty() {
            return;
        }
        if let Err(error) = self.agent_state.history.update(|history| history.append(&changes)) {
            tracing::warn!(error = %ErrorChain(&error), "cannot write the history");
        }
    }
}

impl Removed {
    fn change(&self, took: Duration) -> Change {
        let of = self.description.as_ref();
        let what = of.map(|of| format!(" of {}, interface {}", of.pod, of.attachment.interface)).unwrap_or_default();
        Change {
            time: MicroTime(Timestamp::now()),
            engine: Some(self.engine),
            network: of.map(|of| of.network.to_string()),
            attachment: of.map(|of| of.attachment.to_string()),
            operation: format!("remove capture {}{what}", self.number),
            cause: Cause::CaptureAbandoned,
            generation: None,
            milliseconds: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            outcome: Outcome::Done,
        }
    }
}

/// Removes what ended captures left, and everything of captures from the engines that are
/// `unsearched`.
fn clean(paths: &NodePaths, unsearched: &BTreeSet<EngineKind>) -> Pass {
    let mut pass = Pass { searched: unsearched.clone(), ..Pass::default() };
    let leases = Leases::new(paths);
    let described: BTreeSet<CaptureNumber> = leases.described().into_iter().collect();
    for number in CaptureNumber::all().filter(|number| !unsearched.is_empty() || described.contains(number)) {
        match leases.take_over(number) {
            // The capture is running.
            Ok(None) => {}
            Ok(Some(lease)) => pass.clean_one(paths, unsearched, lease),
            Err(error) => pass.fail(&error),
        }
    }
    pass
}

impl Pass {
    fn clean_one(&mut self, paths: &NodePaths, unsearched: &BTreeSet<EngineKind>, lease: Lease) {
        let (number, description) = (lease.number(), lease.description());
        // Without a readable description the capture may have been of any engine of this node.
        let named = description.as_ref().map(|of| of.engine);
        let may_have_it = |engine: &EngineKind| {
            unsearched.contains(engine)
                || named.map_or_else(|| paths.engine_socket(*engine).exists(), |named| named == *engine)
        };
        let mut is_clean = true;
        for engine in EngineKind::ALL.into_iter().filter(may_have_it) {
            match Captures::new(engine, paths.engine_socket(engine)).stop(number) {
                Ok(false) => {}
                Ok(true) => self.removed.push(Removed { engine, number, description: description.clone() }),
                Err(error) => {
                    is_clean = false;
                    self.searched.remove(&engine);
                    self.fail(&error);
                }
            }
        }
        if is_clean && let Err(error) = lease.finish() {
            self.fail(&error);
        }
    }

    fn fail(&mut self, error: &(dyn std::error::Error + 'static)) {
        self.problem = Some(ErrorChain(error).to_string());
    }
}
