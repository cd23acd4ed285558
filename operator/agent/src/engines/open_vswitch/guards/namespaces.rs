//! The pods of ports and their namespaces, from the records of attachments (IO). A record is
//! written before its port exists, and no attachment gets another pod.

use std::collections::{BTreeMap, BTreeSet};
use tokio::task::spawn_blocking;
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::ovs::{FrameSource, GuardedPorts, PortOwner};

/// The pods that were read.
#[derive(Debug)]
pub(super) struct Namespaces {
    journal: Journal,
    known: BTreeMap<AttachmentId, PortOwner>,
}

impl Namespaces {
    pub(super) fn new(journal: Journal) -> Self {
        Self { journal, known: BTreeMap::new() }
    }

    /// Reads those of new attachments, and forgets those of others. Returns whether all are known.
    pub(super) async fn update(&mut self, ports: impl Iterator<Item = &GuardedPorts>) -> bool {
        let ids: BTreeSet<&AttachmentId> = ports.flat_map(GuardedPorts::values).filter_map(attachment).collect();
        self.known.retain(|id, _| ids.contains(id));
        let missing: Vec<AttachmentId> = ids.into_iter().filter(|id| !self.known.contains_key(*id)).cloned().collect();
        if missing.is_empty() {
            return true;
        }
        let (journal, count) = (self.journal.clone(), missing.len());
        let read = move || missing.into_iter().filter_map(|id| Some((id.clone(), read(&journal, &id)?))).collect();
        let found: Vec<_> = spawn_blocking(read).await.unwrap_or_default();
        let is_complete = found.len() == count;
        self.known.extend(found);
        is_complete
    }

    /// Those of the attachments of these ports, as far as they are known.
    pub(super) fn of(&self, ports: &GuardedPorts) -> BTreeMap<AttachmentId, PortOwner> {
        let ids = ports.values().filter_map(attachment);
        ids.filter_map(|id| Some((id.clone(), self.known.get(id)?.clone()))).collect()
    }
}

fn attachment(source: &FrameSource) -> Option<&AttachmentId> {
    match source {
        FrameSource::Pod { attachment, .. } => Some(attachment),
        FrameSource::Network => None,
    }
}

/// None if it is not known: the port is closed then.
fn read(journal: &Journal, id: &AttachmentId) -> Option<PortOwner> {
    match journal.read(id) {
        Ok(record) => {
            let pod = record?.pod;
            Some(PortOwner { namespace: pod.namespace.parse().ok()?, uid: pod.uid.to_string() })
        }
        Err(error) => {
            tracing::warn!(attachment = %id, error = %ErrorChain(&error), "cannot read the record of an attachment: its port is closed, because the policies for it are not known");
            None
        }
    }
}
