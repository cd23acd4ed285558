//! Remembers the offloads that merge received packets and that were disabled on the NICs of one
//! engine. They are enabled again when the engine has released the NIC, also if the agent or the
//! engine was restarted meanwhile (IO).

use std::collections::BTreeSet;
use usnet_common::display::ErrorChain;
use usnet_crds::{EngineKind, MacAddress};
use usnet_dataplane::links::nics::{Nics, ObservedNics, ReceiveOffload};
use usnet_dataplane::nic_offloads::{ChangedNic, NicOffloads};
use usnet_dataplane::paths::NodePaths;

/// The offloads that were disabled.
#[derive(Debug)]
pub(super) struct Offloads {
    engine: EngineKind,
    paths: NodePaths,
    found: NicOffloads,
}

impl Offloads {
    /// Loads what earlier agents of this node have disabled.
    pub(super) fn load(engine: EngineKind, paths: &NodePaths) -> Self {
        let found = NicOffloads::read(paths, engine).unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read which offloads were disabled on NICs: they stay disabled");
            NicOffloads::default()
        });
        Self { engine, paths: paths.clone(), found }
    }

    /// Remembers the offloads that are about to be disabled.
    pub(super) fn remember(&mut self, index: u32, mac: [u8; 6], found_on: &BTreeSet<ReceiveOffload>) {
        if let Some(mac) = MacAddress::from_octets(mac).filter(|_| !found_on.is_empty()) {
            self.found.add(index, mac, found_on.iter().map(ToString::to_string));
            self.write();
        }
    }

    /// The changed NICs that are not `used` any more.
    pub(super) fn left(&self, used: &BTreeSet<u32>) -> Vec<ChangedNic> {
        self.found.nics.iter().filter(|nic| !used.contains(&nic.index)).cloned().collect()
    }

    /// Forgets NICs that were restored.
    pub(super) fn forget(&mut self, restored: &[ChangedNic]) {
        if !restored.is_empty() {
            self.found.nics.retain(|nic| !restored.contains(nic));
            self.write();
        }
    }

    /// Writes the file. A failure does not stop the change of the NIC, because packets would be
    /// lost without it.
    fn write(&self) {
        if let Err(error) = self.found.write(&self.paths, self.engine) {
            let error = ErrorChain(&error);
            tracing::warn!(%error, "cannot write which offloads were disabled on NICs: a restarted agent would leave them disabled");
        }
    }
}

/// Enables again the offloads that were found enabled. NICs that are gone are skipped, and what
/// drivers refuse is only logged.
pub(super) fn restore(kernel: &mut impl Nics, nics: &[ChangedNic], observed: &ObservedNics) {
    for ChangedNic { index, mac, found_on } in nics {
        let is_there = observed.nics.get(index).is_some_and(|nic| nic.macs.contains(&mac.octets()));
        let found_on = |offload: &ReceiveOffload| found_on.contains(offload.kernel_name());
        for offload in ReceiveOffload::ALL.into_iter().filter(found_on).filter(|_| is_there) {
            if let Err(error) = kernel.set_receive_offload(*index, offload, true) {
                tracing::warn!(error = %ErrorChain(&error), "cannot restore an offload of a NIC");
            }
        }
    }
}
