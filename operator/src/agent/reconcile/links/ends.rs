//! The node's ends of pods' interfaces (IO). An engine does not tell that one is gone: Open vSwitch
//! says it in a column that it fills late, VPP not at all.

use super::kernel::with_kernel;
use crate::display::ErrorChain;
use std::collections::BTreeSet;
use std::path::PathBuf;
use usnet_dataplane::attachment::{AttachmentId, Progress, Record};
use usnet_dataplane::links::LinkError;
use usnet_dataplane::port::PortBackend;

/// The node's ends of the interfaces of one engine's pods.
#[derive(Debug, Default)]
pub(super) struct Ends {
    attached: BTreeSet<AttachmentId>,
    /// Those that were not there when they were last looked for.
    missing: BTreeSet<AttachmentId>,
}

impl Ends {
    /// The attachments of these that have lost their device.
    pub(super) async fn missing(
        &mut self,
        network_namespace: Option<PathBuf>,
        records: &[Record],
    ) -> BTreeSet<AttachmentId> {
        let has_end = |record: &&Record| {
            record.progress == Progress::Attached && matches!(record.port.backend, PortBackend::Veth { .. })
        };
        self.attached = records.iter().filter(has_end).map(|record| record.id.clone()).collect();
        self.missing = self.look(network_namespace).await;
        self.missing.clone()
    }

    /// Whether one has disappeared, or has come back. Without any nothing is read.
    pub(super) async fn have_changed(&self, network_namespace: Option<PathBuf>) -> bool {
        self.look(network_namespace).await != self.missing
    }

    async fn look(&self, network_namespace: Option<PathBuf>) -> BTreeSet<AttachmentId> {
        if self.attached.is_empty() {
            return BTreeSet::new();
        }
        match present(network_namespace).await {
            Ok(Some(present)) => self.attached.difference(&present).cloned().collect(),
            // An agent that may not change devices is in a network namespace of its own.
            Ok(None) => BTreeSet::new(),
            Err(error) => {
                tracing::debug!(error = %ErrorChain(&error), "cannot look for the node's ends of pods' interfaces");
                self.missing.clone()
            }
        }
    }
}

async fn present(network_namespace: Option<PathBuf>) -> Result<Option<BTreeSet<AttachmentId>>, LinkError> {
    with_kernel(network_namespace, |kernel| kernel.attachments()).await
}
