//! The files of the node that the verbs share: journal and networks.

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
    pub paths: NodePaths,
    pub journal: Journal,
    /// The files of the networks that the agent publishes.
    pub networks: NetworkFiles,
}

impl Node {
    /// The node of this process.
    pub fn from_environment() -> Result<Self, journal::Error> {
        Self::open(NodePaths::from_environment())
    }

    pub fn open(paths: NodePaths) -> Result<Self, journal::Error> {
        let journal = Journal::open(&paths)?;
        let networks = NetworkFiles::new(&paths);
        Ok(Self { paths, journal, networks })
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
        let all = self.journal.find(Key::Pod(pod))?;
        let is_complete = !has_other(&all.unreadable, id);
        let known = all.records.into_iter().filter(|record| record.id != *id).collect();
        Ok(OtherAttachments { known, is_complete })
    }

    /// Whether an attachment other than `id`, of any pod, needs a folder of the node: kubelet may
    /// reallocate a device to another pod while this one terminates.
    pub fn is_source_used(&self, folder: &Path, id: &AttachmentId) -> Result<bool, journal::Error> {
        let all = self.journal.find(Key::Folder(folder))?;
        let uses = |record: &Record| record.directory_source.as_deref() == Some(folder) && needs_directory(record);
        Ok(has_other(&all.unreadable, id) || all.records.iter().any(|record| record.id != *id && uses(record)))
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

fn has_other(unreadable: &[UnreadableRecord], id: &AttachmentId) -> bool {
    unreadable.iter().any(|unreadable| unreadable.id != *id)
}

fn needs_directory(record: &Record) -> bool {
    !matches!(record.progress, Progress::Detaching | Progress::Detached) && needs_volume(&record.port)
}
