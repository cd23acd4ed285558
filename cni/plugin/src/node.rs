//! The node's files that the verbs share.

use crate::port::needs_volume;
use usnet_dataplane::attachment::{AttachmentId, InterfaceName, PodUid, Progress, Record};
use usnet_dataplane::journal::{self, Journal};
use usnet_dataplane::network_file::NetworkFiles;
use usnet_dataplane::roots::Roots;

/// A node, by its files.
#[derive(Debug, Clone)]
pub struct Node {
    /// Where they are.
    pub roots: Roots,
    /// The attachments.
    pub journal: Journal,
    /// What the agent says of each network.
    pub networks: NetworkFiles,
}

impl Node {
    /// The node with these roots.
    ///
    /// # Errors
    /// When the journal cannot be opened.
    pub fn open(roots: Roots) -> Result<Self, journal::Error> {
        let journal = Journal::open(&roots)?;
        let networks = NetworkFiles::new(&roots);
        Ok(Self { roots, journal, networks })
    }

    /// The attachments of a pod other than `id`.
    ///
    /// # Errors
    /// When the journal cannot be listed.
    pub fn other_attachments(&self, pod: &PodUid, id: &AttachmentId) -> Result<OtherAttachments, journal::Error> {
        let all = self.journal.records_of_pod(pod)?;
        let is_complete = all.unreadable.is_empty();
        let known = all.records.into_iter().filter(|record| record.id != *id).collect();
        Ok(OtherAttachments { known, is_complete })
    }
}

/// Attachments of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherAttachments {
    /// Those whose records can be read.
    pub known: Vec<Record>,
    /// Whether these are all. A record that this release does not understand could be of any pod.
    pub is_complete: bool,
}

impl OtherAttachments {
    /// Whether one of them has, or may have, use for the pod's directory.
    pub fn need_directory(&self) -> bool {
        !self.is_complete || self.known.iter().any(needs_directory)
    }

    /// Whether one of them has this interface now.
    pub fn have_interface(&self, interface: &InterfaceName) -> bool {
        self.known.iter().any(|record| record.id.interface == *interface && needs_directory(record))
    }
}

fn needs_directory(record: &Record) -> bool {
    !matches!(record.progress, Progress::Detaching | Progress::Detached) && needs_volume(&record.port)
}
