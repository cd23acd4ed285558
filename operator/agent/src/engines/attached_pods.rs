//! The pods of ports with their addresses, from the records of attachments (IO). A record is
//! written before its port exists, and no attachment gets another pod.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use tokio::task::spawn_blocking;
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::engine::policy_subjects::PortOwner;
use usnet_dataplane::journal::Journal;

/// The pod of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engines) struct AttachedPod {
    pub(in crate::engines) owner: PortOwner,
    pub(in crate::engines) addresses: Vec<IpAddr>,
}

/// By attachments. One that is not here has a port that is closed.
pub(in crate::engines) type AttachedPods = BTreeMap<AttachmentId, AttachedPod>;

/// The pods that were read.
#[derive(Debug)]
pub(in crate::engines) struct Pods {
    journal: Journal,
    pub(in crate::engines) known: AttachedPods,
}

impl Pods {
    pub(in crate::engines) fn new(journal: Journal) -> Self {
        Self { journal, known: AttachedPods::new() }
    }

    /// Reads those of new attachments, and forgets those of others. Returns whether all are known.
    pub(in crate::engines) async fn update(&mut self, attachments: impl Iterator<Item = &AttachmentId>) -> bool {
        let all: BTreeSet<&AttachmentId> = attachments.collect();
        self.known.retain(|id, _| all.contains(id));
        let missing: Vec<AttachmentId> = all.into_iter().filter(|id| !self.known.contains_key(*id)).cloned().collect();
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
}

fn read(journal: &Journal, id: &AttachmentId) -> Option<AttachedPod> {
    match journal.read(id) {
        Ok(record) => {
            let record = record?;
            let owner = PortOwner { namespace: record.pod.namespace.parse().ok()?, uid: record.pod.uid.to_string() };
            Some(AttachedPod { owner, addresses: record.addresses.iter().map(|address| address.ip).collect() })
        }
        Err(error) => {
            tracing::warn!(attachment = %id, error = %ErrorChain(&error), "cannot read the record of an attachment: its port is closed, because the policies for it are not known");
            None
        }
    }
}
