//! The node's files that the verbs share.

use crate::attachment::pod_files::names::files_of;
use crate::attachment::port::needs_volume;
use std::collections::BTreeSet;
use std::path::Path;
use usnet_crds::DeviceId;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::{AttachmentId, PodUid, Progress, Record};
use usnet_dataplane::journal::{self, Journal, Key, UnreadableRecord};
use usnet_dataplane::network_file::NetworkFiles;
use usnet_dataplane::paths::NodePaths;

/// A node, by its files.
#[derive(Debug, Clone)]
pub struct Node {
    /// The paths of the node.
    pub roots: NodePaths,
    /// The attachments.
    pub journal: Journal,
    /// The files of the networks that the agent publishes.
    pub networks: NetworkFiles,
}

impl Node {
    /// The node with these roots.
    ///
    /// # Errors
    /// When the journal cannot be opened.
    pub fn open(roots: NodePaths) -> Result<Self, journal::Error> {
        let journal = Journal::open(&roots)?;
        let networks = NetworkFiles::new(&roots);
        Ok(Self { roots, journal, networks })
    }

    /// Checks that attachments can be recorded and pods' directories be made.
    ///
    /// # Errors
    /// When a disk is full or read-only.
    pub fn check_writable(&self) -> Result<(), journal::Error> {
        self.journal.check_writable()?;
        // After a boot it is made by what needs it first.
        match self.roots.run.exists() {
            true => Ok(atomic_file::check_writable(&self.roots.run)?),
            false => Ok(()),
        }
    }

    /// The attachments of a pod other than `id`.
    ///
    /// # Errors
    /// When the journal cannot be listed.
    pub fn other_attachments(&self, pod: &PodUid, id: &AttachmentId) -> Result<OtherAttachments, journal::Error> {
        let all = self.journal.find(Key::Pod(pod))?;
        let is_complete = !has_other(&all.unreadable, id);
        let known = all.records.into_iter().filter(|record| record.id != *id).collect();
        Ok(OtherAttachments { known, is_complete })
    }

    /// Whether an attachment other than `id`, of any pod, needs a folder of the node: kubelet may
    /// reallocate a device to another pod while this one terminates.
    ///
    /// # Errors
    /// When the journal cannot be listed.
    pub fn is_source_used(&self, folder: &Path, id: &AttachmentId) -> Result<bool, journal::Error> {
        let all = self.journal.find(Key::Folder(folder))?;
        let uses = |record: &Record| record.directory_source.as_deref() == Some(folder) && needs_directory(record);
        Ok(has_other(&all.unreadable, id) || all.records.iter().any(|record| record.id != *id && uses(record)))
    }

    /// The devices that other interfaces of a sandbox have.
    ///
    /// # Errors
    /// When the journal cannot be listed.
    pub fn used_devices(&self, pod: &PodUid, id: &AttachmentId) -> Result<BTreeSet<DeviceId>, journal::Error> {
        let others = self.other_attachments(pod, id)?.known.into_iter();
        let of_sandbox = others.filter(|other| other.id.container == id.container);
        Ok(of_sandbox.filter_map(|other| device_of(&self.roots, &other)).collect())
    }
}

/// The device of an attachment.
pub fn device_of(roots: &NodePaths, record: &Record) -> Option<DeviceId> {
    record.directory_source.as_deref()?.strip_prefix(roots.devices()).ok()?.to_str()?.parse().ok()
}

/// Attachments of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherAttachments {
    /// Those whose records can be read.
    pub known: Vec<Record>,
    /// Whether these are all. A record that cannot be read may need anything of the pod.
    pub is_complete: bool,
}

impl OtherAttachments {
    /// Whether one of them needs, or may need, the pod's directory.
    pub fn need_directory(&self) -> bool {
        !self.is_complete || self.known.iter().any(needs_directory)
    }

    /// The names of their files in the pod's directory.
    pub fn files(&self) -> BTreeSet<String> {
        self.known.iter().filter(|record| needs_directory(record)).flat_map(files_of).collect()
    }
}

fn has_other(unreadable: &[UnreadableRecord], id: &AttachmentId) -> bool {
    unreadable.iter().any(|unreadable| unreadable.id != *id)
}

fn needs_directory(record: &Record) -> bool {
    !matches!(record.progress, Progress::Detaching | Progress::Detached) && needs_volume(&record.port)
}
