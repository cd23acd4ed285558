//! kubectl as the test bed's administrator.

use std::path::PathBuf;
use std::process::Command;

use crate::host::command::{self, CommandError};
use crate::host::wait;
use crate::testbed::folder::TestbedFolder;

/// How long one try of a command that waits takes.
const ONE_TRY: &str = "--timeout=5s";

/// What changes while nodes and pods start.
const PROGRESS: [&str; 4] = [
    "get",
    "nodes,pods",
    "--all-namespaces",
    "--output=jsonpath={range .items[*]}{.metadata.name} {.status.phase} {.status.conditions[*].status} \
     {.status.containerStatuses[*].state}{\"\\n\"}{end}",
];

/// Runs kubectl with the test bed's kubeconfig and a cache inside of the test bed's folder.
#[derive(Clone, Debug)]
pub struct Kubectl {
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    /// For the test bed in `folder`.
    #[must_use]
    pub fn new(folder: &TestbedFolder) -> Self {
        Self { kubeconfig: folder.kubeconfig(), cache: cache_folder(folder) }
    }

    /// A kubectl command that is not started yet.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig).env("KUBECACHEDIR", &self.cache);
        command
    }

    /// Runs kubectl and gives what it printed.
    ///
    /// # Errors
    /// When it fails, with what it said.
    pub fn run(&self, arguments: &[&str]) -> Result<String, CommandError> {
        command::run(&mut self.command(arguments))
    }

    /// Waits until objects exist. `kubectl wait --for=create` sometimes fails at once for those
    /// that do not.
    ///
    /// # Errors
    /// When one does not in time, or the API server does not answer.
    pub fn wait_for_existence(&self, objects: &[&str]) -> Result<(), CommandError> {
        let get = [&["get", "--output=name"], objects].concat();
        if wait::until(wait::limit(), || self.run(&get).is_ok()) { Ok(()) } else { self.run(&get).map(drop) }
    }

    /// Runs `kubectl wait` or `kubectl rollout status` until it succeeds, for as long as nodes and
    /// pods go on changing.
    ///
    /// # Errors
    /// When it has not succeeded and nothing has changed for the time limit, with what it said.
    pub fn wait_while_progressing(&self, arguments: &[&str]) -> Result<(), CommandError> {
        let try_once = [arguments, &[ONE_TRY]].concat();
        let progress = || self.run(&PROGRESS).unwrap_or_default();
        let is_done = wait::try_while_progressing(progress, || Ok::<_, CommandError>(self.run(&try_once).is_ok()))?;
        if is_done { Ok(()) } else { self.run(&try_once).map(drop) }
    }

    /// Applies objects.
    ///
    /// # Errors
    /// When the API server refuses them.
    pub fn apply(&self, objects: &str) -> Result<String, CommandError> {
        command::run_with_input(&mut self.command(&["apply", "--filename=-"]), objects)
    }
}

/// Where kubectl keeps what it learned about the API, instead of in the user's home.
#[must_use]
pub fn cache_folder(folder: &TestbedFolder) -> PathBuf {
    folder.temporary().join("kubectl")
}
