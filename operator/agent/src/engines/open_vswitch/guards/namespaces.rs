//! The pods of the ports of bridges, with their namespaces.

use crate::engines::attached_pods::Pods;
use std::collections::BTreeMap;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::ovs::{FrameSource, GuardedPorts, PortOwner};

/// The pods that were read.
#[derive(Debug)]
pub(super) struct Namespaces(Pods);

impl Namespaces {
    pub(super) fn new(journal: Journal) -> Self {
        Self(Pods::new(journal))
    }

    /// Reads those of new attachments, and forgets those of others. Returns whether all are known.
    pub(super) async fn update(&mut self, ports: impl Iterator<Item = &GuardedPorts>) -> bool {
        self.0.update(ports.flat_map(GuardedPorts::values).filter_map(attachment)).await
    }

    /// Those of the attachments of these ports, as far as they are known.
    pub(super) fn of(&self, ports: &GuardedPorts) -> BTreeMap<AttachmentId, PortOwner> {
        let ids = ports.values().filter_map(attachment);
        ids.filter_map(|id| Some((id.clone(), self.0.known.get(id)?.owner.clone()))).collect()
    }
}

fn attachment(source: &FrameSource) -> Option<&AttachmentId> {
    match source {
        FrameSource::Pod { attachment, .. } => Some(attachment),
        FrameSource::Network => None,
    }
}
