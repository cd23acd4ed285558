//! The files of the node that the verbs share: journal and networks.

use crate::attachment::pod_files::names::files_of;
use crate::attachment::port::needs_volume;
use std::collections::BTreeSet;
use std::path::Path;
use usnet_crds::DeviceId;
use usnet_dataplane::atomic_file;
use usnet_dataplane::attachment::{AttachmentId, PodUid, Progress, Record};
use usnet_dataplane::journal::{self, Journal, Key};
use usnet_dataplane::network_file::NetworkFiles;
use usnet_dataplane::paths::NodePaths;

/// A node, by its files.
#[derive(Debug, Clone)]
pub struct Node {
    pub paths: NodePaths,
    pub journal: Journal,
    /// The files of the networks that the agent publishes.
    pub networks: NetworkFiles,
}

impl Node {
    /// The node of this process.
    pub fn from_environment() -> Self {
        Self::open(NodePaths::from_environment())
    }

    /// Nothing is read or created yet.
    pub fn open(paths: NodePaths) -> Self {
        let (journal, networks) = (Journal::at(&paths), NetworkFiles::new(&paths));
        Self { paths, journal, networks }
    }

    /// Checks that attachments can be recorded and pods' directories created: no disk is full or
    /// read-only.
    pub fn check_writable(&self) -> Result<(), journal::Error> {
        self.journal.check_writable()?;
        // After a boot the folder does not exist until the first program creates it.
        match self.paths.run.exists() {
            true => Ok(atomic_file::check_writable(&self.paths.run)?),
            false => Ok(()),
        }
    }

    /// The attachments of a pod other than `id`.
    pub fn other_attachments(&self, pod: &PodUid, id: &AttachmentId) -> Result<OtherAttachments, journal::Error> {
        let others = self.journal.find_others(Key::Pod(pod), id)?;
        Ok(OtherAttachments { known: others.records, is_complete: others.unreadable.is_empty() })
    }

    /// Whether an attachment other than `id`, of any pod, needs a folder of the node: kubelet may
    /// reallocate a device to another pod while this one terminates.
    pub fn is_source_used(&self, folder: &Path, id: &AttachmentId) -> Result<bool, journal::Error> {
        let others = self.journal.find_others(Key::Folder(folder), id)?;
        let uses = |record: &Record| record.directory_source.as_deref() == Some(folder) && needs_directory(record);
        Ok(!others.unreadable.is_empty() || others.records.iter().any(uses))
    }

    /// The devices of other interfaces of the same sandbox.
    pub fn used_devices(&self, pod: &PodUid, id: &AttachmentId) -> Result<BTreeSet<DeviceId>, journal::Error> {
        let others = self.other_attachments(pod, id)?.known.into_iter();
        let of_sandbox = others.filter(|other| other.id.container == id.container);
        Ok(of_sandbox.filter_map(|other| device_of(&self.paths, &other)).collect())
    }
}

/// The device whose folder an attachment uses, if any.
pub fn device_of(paths: &NodePaths, record: &Record) -> Option<DeviceId> {
    record.directory_source.as_deref()?.strip_prefix(paths.devices()).ok()?.to_str()?.parse().ok()
}

/// Other attachments of one pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherAttachments {
    /// The records that can be read.
    pub known: Vec<Record>,
    /// Whether `known` has all of them. An attachment whose record cannot be read may need anything
    /// of the pod.
    pub is_complete: bool,
}

impl OtherAttachments {
    /// Whether one of these attachments needs, or may need, the pod's directory.
    pub fn need_directory(&self) -> bool {
        !self.is_complete || self.known.iter().any(needs_directory)
    }

    /// The names of the files that these attachments have in the pod's directory.
    pub fn files(&self) -> BTreeSet<String> {
        self.known.iter().filter(|record| needs_directory(record)).flat_map(files_of).collect()
    }
}

fn needs_directory(record: &Record) -> bool {
    !matches!(record.progress, Progress::Detaching | Progress::Detached) && needs_volume(&record.port)
}
