//! What the node has: the records of pods and their sandboxes (IO).

use super::plan::Seen;
use usnet_dataplane::attachment::{PodUid, Record};
use usnet_dataplane::journal::{Error, Journal, Key};
use usnet_dataplane::network_namespace::presence;
use usnet_dataplane::paths::NodePaths;
use usnet_dataplane::sandboxes::{Sandbox, Sandboxes};

/// What there is of a pod.
#[derive(Debug)]
pub(super) struct Found {
    /// Its records.
    pub(super) seen: Vec<Seen>,
    /// The sandbox that the plugin recorded.
    pub(super) sandbox: Option<Sandbox>,
}

/// Reads it.
pub(super) struct Finder {
    journal: Journal,
    sandboxes: Sandboxes,
}

impl Finder {
    pub(super) fn new(paths: &NodePaths, journal: Journal) -> Self {
        Self { journal, sandboxes: Sandboxes::new(paths) }
    }

    /// All records of the node.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub(super) fn all(&self) -> Result<Vec<Record>, Error> {
        Ok(self.journal.records()?.records)
    }

    /// The records of a pod.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub(super) fn of_pod(&self, pod: &PodUid) -> Result<Vec<Record>, Error> {
        Ok(self.journal.find(Key::Pod(pod))?.records)
    }

    /// What else there is of a pod with these records.
    pub(super) fn complete(&self, pod: &PodUid, records: Vec<Record>) -> Found {
        let seen = records.into_iter().map(|record| Seen { presence: presence(&record), record }).collect();
        // One that cannot be read is as good as none.
        Found { seen, sandbox: self.sandboxes.read(pod).ok().flatten() }
    }
}
