//! Runs kubectl as the test bed's administrator.

use std::path::PathBuf;
use std::process::Command;

use crate::host::command::{self, CommandError};
use crate::host::wait;
use crate::testbed::folder::TestbedFolder;

/// The time limit of one attempt of a waiting command.
const ATTEMPT_TIMEOUT: &str = "--timeout=5s";

/// The command whose output changes while nodes and pods start.
const PROGRESS: [&str; 4] = [
    "get",
    "nodes,pods",
    "--all-namespaces",
    "--output=jsonpath={range .items[*]}{.metadata.name} {.status.phase} {.status.conditions[*].status} \
     {.status.containerStatuses[*].state}{\"\\n\"}{end}",
];

/// kubectl with the test bed's kubeconfig and a cache in the test bed's folder.
#[derive(Clone, Debug)]
pub struct Kubectl {
    kubeconfig: PathBuf,
    cache: PathBuf,
}

impl Kubectl {
    #[must_use]
    pub fn new(folder: &TestbedFolder) -> Self {
        Self { kubeconfig: folder.kubeconfig(), cache: cache_folder(folder) }
    }

    /// Returns a kubectl command that is not started yet.
    #[must_use]
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("kubectl");
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig).env("KUBECACHEDIR", &self.cache);
        command
    }

    /// Runs kubectl and returns its standard output.
    pub fn run(&self, arguments: &[&str]) -> Result<String, CommandError> {
        command::run(&mut self.command(arguments))
    }

    /// Waits until objects exist. `kubectl wait --for=create` sometimes fails at once instead.
    pub fn wait_for_existence(&self, objects: &[&str]) -> Result<(), CommandError> {
        let get = [&["get", "--output=name"], objects].concat();
        if wait::until(wait::limit(), || self.run(&get).is_ok()) { Ok(()) } else { self.run(&get).map(drop) }
    }

    /// Runs `kubectl wait` or `kubectl rollout status` until it succeeds, as long as nodes and pods
    /// keep changing.
    pub fn wait_while_progressing(&self, arguments: &[&str]) -> Result<(), CommandError> {
        let try_once = [arguments, &[ATTEMPT_TIMEOUT]].concat();
        let progress = || self.run(&PROGRESS).unwrap_or_default();
        let is_done = wait::try_while_progressing(progress, || Ok::<_, CommandError>(self.run(&try_once).is_ok()))?;
        if is_done { Ok(()) } else { self.run(&try_once).map(drop) }
    }

    pub fn apply(&self, objects: &str) -> Result<String, CommandError> {
        command::run_with_input(&mut self.command(&["apply", "--filename=-"]), objects)
    }
}

/// Returns the folder in which kubectl caches its discovery of the API.
#[must_use]
pub fn cache_folder(folder: &TestbedFolder) -> PathBuf {
    folder.temporary().join("kubectl")
}
