//! An agent that follows a folder of manifests, run as `usnet agent --manifests` does.

use super::node::until;
use std::fs;
use std::path::PathBuf;
use std::thread::JoinHandle;
use tempfile::TempDir;
use tokio::sync::oneshot;
use usnet_agent::Options;
use usnet_common::telemetry;
use usnet_crds::conditions::find;
use usnet_crds::node_state::NetworkReport;
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::paths::NodePaths;
use usnet_node::history_file::{self, Change};
use usnet_node::state_file::{StateFile, is_agent_running};

/// The folder that the agent allows for `sharedDir`.
pub(crate) const ALLOWED: &str = "/srv/old";

/// A folder of manifests for one network in each file.
pub(crate) struct Manifests(TempDir);

impl Manifests {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// Replaces a file in one step.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let new = self.0.path().join(".new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.0.path().join(file)).unwrap();
    }

    pub(crate) fn remove(&self, file: &str) {
        fs::remove_file(self.0.path().join(file)).unwrap();
    }
}

/// A document with a network for every namespace.
pub(crate) fn manifest(name: &str, engine: &str, mtu: u16) -> String {
    format!(
        "---\napiVersion: usnet.dev/v1alpha1\nkind: UserspaceNetwork\nmetadata: {{name: {name}}}\nspec:\n  engine: {engine}\n  namespaceSelector: {{}}\n  bridge: {{mtu: {mtu}}}\n"
    )
}

/// A running agent, on a thread of its own as in its own process. Drop it to stop it.
pub(crate) struct StandaloneAgent {
    paths: NodePaths,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl StandaloneAgent {
    pub(crate) fn start(paths: &NodePaths, manifests: PathBuf) -> Self {
        Self::start_with(paths, manifests, telemetry::ListenOptions::default())
    }

    /// Starts an agent that answers probes at an address.
    pub(crate) fn start_with(paths: &NodePaths, manifests: PathBuf, telemetry: telemetry::ListenOptions) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let (paths_of_agent, paths) = (paths.clone(), paths.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let options = Options {
                node_name: "node-a".into(),
                manifests: Some(manifests),
                memif_socket_ids: MemifSocketIds::default(),
                shared_dir_roots: vec![ALLOWED.into()],
                definition_ipam_plugins: vec!["host-local".to_owned()],
                definition_ipam_keys: vec!["dataDir".to_owned()],
                listen_port_metrics: None,
                telemetry,
            };
            runtime.block_on(async {
                tokio::select! {
                    ended = usnet_agent::run_at(&paths_of_agent, options, usnet_standalone::follow) => ended.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { paths, stop: Some(stop), thread: Some(thread) }
    }

    /// The content of the state file; none before there is one.
    pub(crate) fn state(&self) -> Option<StateFile> {
        StateFile::read(&self.paths).unwrap()
    }

    pub(crate) fn wait_for_state<T>(&self, what: &str, condition: impl Fn(&StateFile) -> Option<T>) -> T {
        until(&format!("{what} in the state file, which says {:#?}", self.state()), || {
            self.state().as_ref().and_then(&condition)
        })
    }

    pub(crate) fn wait_for_network(
        &self,
        name: &str,
        what: &str,
        condition: impl Fn(&NetworkReport) -> bool,
    ) -> NetworkReport {
        self.wait_for_state(&format!("{name} {what}"), |state| {
            state.status.networks.iter().find(|entry| entry.name == name && condition(entry)).cloned()
        })
    }

    /// Waits until the folder is reported as usable, or not.
    pub(crate) fn wait_until_accepted(&self, status: &str) -> StateFile {
        self.wait_for_state(&format!("ManifestsAccepted={status}"), |state| {
            let condition = find(&state.status.conditions, "ManifestsAccepted")?;
            (condition.status == status).then(|| state.clone())
        })
    }

    pub(crate) fn history(&self) -> Vec<Change> {
        history_file::read(&self.paths.history_file()).unwrap()
    }
}

impl StandaloneAgent {
    /// Stops the agent while another one waits for that.
    pub(crate) fn stop_for_successor(mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for StandaloneAgent {
    fn drop(&mut self) {
        // A successor takes over.
        if self.thread.is_none() {
            return;
        }
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if let Some(Err(panic)) = ended
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
        if !std::thread::panicking() {
            // A program that another test is starting at this moment holds the lock until it runs.
            until("no agent runs any more", || (!is_agent_running(&self.paths)).then_some(()));
        }
    }
}
