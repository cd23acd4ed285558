//! The operations of a tool on the parts of a repository.

use serde_json::Value;
use std::time::Duration;

/// The result of a commit.
#[derive(Debug)]
pub(super) struct Applied {
    /// All objects are applied and ready.
    pub(super) is_ready: bool,
    /// The problem, as the object of the tool reports it.
    pub(super) message: String,
    pub(super) after: Duration,
}

/// A tool that delivers what is in a repository, until it is dropped.
pub(super) trait Tool {
    /// Returns the name of the tool, and the method by which it applies objects.
    fn name(&self) -> &'static str;

    /// Delivers a folder of the repository from now on, once what it depends on works.
    fn add(&mut self, part: &str, depends_on: &[&str]);

    /// Commits these objects as the content of a folder, and waits until they are applied, or
    /// cannot be.
    fn commit(&mut self, part: &str, objects: &[Value]) -> Applied;

    /// Waits until the newest commit of a folder is applied.
    fn await_ready(&self, part: &str);

    /// Makes it compare the folder with the cluster, as it does after each interval.
    fn reconcile(&self, part: &str);

    /// Waits until it shows that the folder is not ready yet, and has not failed.
    fn await_progressing(&self, part: &str);

    /// The annotation by which an object that cannot be changed is deleted and created again.
    fn force(&self) -> (&'static str, &'static str);

    /// Delivers the folder no longer, and requests the deletion of all that it delivered.
    fn remove(&mut self, part: &str);

    /// Whether that deletion has ended.
    fn is_gone(&self, part: &str) -> bool;
}
