//! Checks whether the node's state and run directories can be written (IO). No pod can attach while
//! the disk is full or read-only, and none can detach while it is read-only, so that networks must
//! not count as programmed.

use super::reconcile::agent_state::AgentState;
use super::selection::persisted_state::PersistedState;
use nix::sys::statvfs::{FsFlags, statvfs};
use std::convert::Infallible;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::watch::Sender;
use tokio::time::sleep;
use usnet_common::display::ErrorChain;
use usnet_crds::conditions::message::node as message;
use usnet_dataplane::atomic_file;
use usnet_dataplane::paths::NodePaths;

/// How often the directories are checked, with one system call each.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often a file is written although nothing indicates a problem. That costs the disk a few
/// blocks, and only unusual problems, such as quotas, are found in no other way.
const PROBE_INTERVAL: Duration = Duration::from_secs(60);
/// The number of free bytes below which there may be too little space for a file of usnet.
const FREE_MIN: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct WritableDirectories {
    /// The directory of attachment records.
    state: PathBuf,
    /// The directory in which pods' directories are mounted.
    run: PathBuf,
    agent_state: Rc<AgentState>,
    /// Wakes all reconcilers.
    changes: Sender<()>,
    probed: Instant,
}

impl WritableDirectories {
    /// Checks the directories for the first time.
    pub(super) fn new(paths: &NodePaths, agent_state: Rc<AgentState>, changes: Sender<()>) -> Self {
        let (state, run) = (paths.attachments(), paths.run.clone());
        let mut directories = Self { state, run, agent_state, changes, probed: Instant::now() };
        directories.probe();
        directories
    }

    /// Checks the directories indefinitely.
    pub(super) async fn follow(mut self) -> Infallible {
        loop {
            sleep(INTERVAL).await;
            let has_problem = self.agent_state.state_problem.read(Option::is_some);
            if has_problem || self.is_suspect() || self.probed.elapsed() >= PROBE_INTERVAL {
                self.probe();
            }
        }
    }

    /// Whether a file system is read-only or almost full.
    fn is_suspect(&self) -> bool {
        [&self.state, &self.run].into_iter().filter_map(|folder| statvfs(folder).ok()).any(|found| {
            let free = found.blocks_free().saturating_mul(found.fragment_size());
            let is_out_of_files = found.files() > 0 && found.files_free() == 0;
            found.flags().contains(FsFlags::ST_RDONLY) || free < FREE_MIN || is_out_of_files
        })
    }

    fn probe(&mut self) {
        self.probed = Instant::now();
        let error = [&self.state, &self.run].into_iter().find_map(|folder| atomic_file::check_writable(folder).err());
        self.agent_state.metrics.state_directory_writable(error.is_none());
        let problem = error.map(|error| message::state_not_writable(&ErrorChain(&error)));
        if self.agent_state.state_problem.read(|known| problem != *known) {
            self.set(problem);
        }
    }

    fn set(&self, problem: Option<String>) {
        match &problem {
            Some(message) => tracing::error!("{message}"),
            None => {
                tracing::info!("the directories of usnet can be written again");
                if let Err(error) = self.agent_state.persisted_state.update(PersistedState::save_unsaved) {
                    tracing::warn!(error = %ErrorChain(&error), "cannot write the node file");
                }
            }
        }
        self.agent_state.state_problem.update(|known| known.clone_from(&problem));
        self.agent_state.node_report.update(|report| report.set_state_problem(problem));
        self.changes.send_replace(());
    }
}
