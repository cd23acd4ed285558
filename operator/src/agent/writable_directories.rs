//! Whether the node's state and run directories can be written. On a full or read-only disk no pod
//! can attach and, if it is read-only, none can detach: networks must not count as programmed then.

use super::reconcile::agent_state::AgentState;
use crate::display::ErrorChain;
use nix::sys::statvfs::{FsFlags, statvfs};
use std::convert::Infallible;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::watch::Sender;
use tokio::time::sleep;
use usnet_crds::conditions::message::node as message;
use usnet_dataplane::atomic_file;
use usnet_dataplane::paths::NodePaths;

/// How often it is checked, by one system call.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often a file is written although nothing hints at a problem: that costs the disk a few
/// blocks, and only unusual problems, such as quotas, are not seen otherwise.
const PROBE_INTERVAL: Duration = Duration::from_secs(60);
/// Less free space than this in bytes may be too little for a file of usnet.
const FREE_MIN: u64 = 1 << 20;

/// Checks the directories.
#[derive(Debug)]
pub(super) struct WritableDirectories {
    /// Where attachments are recorded.
    state: PathBuf,
    /// Where pods' directories are mounted.
    run: PathBuf,
    agent_state: Rc<AgentState>,
    /// Wakes all reconcilers.
    changes: Sender<()>,
    probed: Instant,
}

impl WritableDirectories {
    /// Checks for the first time.
    pub(super) fn new(paths: &NodePaths, agent_state: Rc<AgentState>, changes: Sender<()>) -> Self {
        let (state, run) = (paths.attachments(), paths.run.clone());
        let mut directories = Self { state, run, agent_state, changes, probed: Instant::now() };
        directories.probe();
        directories
    }

    /// Checks indefinitely.
    pub(super) async fn follow(mut self) -> Infallible {
        loop {
            sleep(INTERVAL).await;
            let has_problem = self.agent_state.state_problem.borrow().is_some();
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
        if problem != *self.agent_state.state_problem.borrow() {
            self.set(problem);
        }
    }

    fn set(&self, problem: Option<String>) {
        match &problem {
            Some(message) => tracing::error!("{message}"),
            None => {
                tracing::info!("the directories of usnet can be written again");
                if let Err(error) = self.agent_state.persisted_state.borrow_mut().save_unsaved() {
                    tracing::warn!(error = %ErrorChain(&error), "cannot write the node file");
                }
            }
        }
        self.agent_state.state_problem.replace(problem.clone());
        self.agent_state.node_report.borrow_mut().set_state_problem(problem);
        self.changes.send_replace(());
    }
}
