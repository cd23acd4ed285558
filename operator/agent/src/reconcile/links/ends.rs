//! The node's ends of pods' veth interfaces (IO). They are checked here because the engines do not
//! report that one is gone: Open vSwitch writes it late, VPP does not detect it.

use super::kernel::with_kernel;
use std::collections::BTreeSet;
use std::path::PathBuf;
use usnet_common::display::ErrorChain;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::port::PortBackend;

#[derive(Debug, Default)]
pub(super) struct Ends {
    attached: BTreeSet<AttachmentId>,
    /// The attachments whose device did not exist when it was last checked.
    missing: BTreeSet<AttachmentId>,
}

impl Ends {
    /// Returns the attachments among these records that have lost their device.
    pub(super) async fn missing(
        &mut self,
        network_namespace: Option<PathBuf>,
        records: &[Record],
    ) -> BTreeSet<AttachmentId> {
        let has_end = |record: &&Record| {
            let backend = &record.port.backend;
            let is_veth = matches!(backend, PortBackend::Device { .. } | PortBackend::AfXdp { .. });
            record.progress == Progress::Attached && is_veth
        };
        self.attached = records.iter().filter(has_end).map(|record| record.id.clone()).collect();
        self.missing = self.find_missing(network_namespace).await;
        self.missing.clone()
    }

    /// Whether a device has disappeared or come back. Nothing is read if no attachment has a
    /// device.
    pub(super) async fn have_changed(&self, network_namespace: Option<PathBuf>) -> bool {
        self.find_missing(network_namespace).await != self.missing
    }

    async fn find_missing(&self, network_namespace: Option<PathBuf>) -> BTreeSet<AttachmentId> {
        if self.attached.is_empty() {
            return BTreeSet::new();
        }
        match present(network_namespace).await {
            Ok(Some(present)) => self.attached.difference(&present).cloned().collect(),
            // An agent that may not change devices runs in a network namespace of its own, and sees
            // none.
            Ok(None) => BTreeSet::new(),
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "cannot read the node's ends of pods' interfaces");
                self.missing.clone()
            }
        }
    }
}

async fn present(network_namespace: Option<PathBuf>) -> Result<Option<BTreeSet<AttachmentId>>, LinkError> {
    with_kernel(network_namespace, |kernel| kernel.attachments()).await
}
