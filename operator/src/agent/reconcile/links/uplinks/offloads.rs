//! What merges received packets at the NICs of one engine: what was found on is on again when the
//! engine has let the NIC go, also if the agent or the engine was restarted meanwhile (IO).

use crate::display::ErrorChain;
use std::collections::BTreeSet;
use usnet_crds::{EngineKind, MacAddress};
use usnet_dataplane::links::nics::{Nics, ObservedNics, ReceiveOffload};
use usnet_dataplane::nic_offloads::{ChangedNic, NicOffloads};
use usnet_dataplane::paths::NodePaths;

/// What was found on.
#[derive(Debug)]
pub(super) struct Offloads {
    engine: EngineKind,
    paths: NodePaths,
    found: NicOffloads,
}

impl Offloads {
    /// What an earlier agent of this node has found.
    pub(super) fn load(engine: EngineKind, paths: &NodePaths) -> Self {
        let found = NicOffloads::read(paths, engine).unwrap_or_else(|error| {
            tracing::warn!(error = %ErrorChain(&error), "cannot read what was switched off at NICs: it stays off");
            NicOffloads::default()
        });
        Self { engine, paths: paths.clone(), found }
    }

    /// Remembers what is about to be switched off.
    pub(super) fn remember(&mut self, index: u32, mac: [u8; 6], found_on: &BTreeSet<ReceiveOffload>) {
        if let Some(mac) = MacAddress::from_octets(mac).filter(|_| !found_on.is_empty()) {
            self.found.add(index, mac, found_on.iter().map(ToString::to_string));
            self.write();
        }
    }

    /// The NICs that were changed and are not among these.
    pub(super) fn left(&self, used: &BTreeSet<u32>) -> Vec<ChangedNic> {
        self.found.nics.iter().filter(|nic| !used.contains(&nic.index)).cloned().collect()
    }

    /// These are as they were found.
    pub(super) fn forget(&mut self, restored: &[ChangedNic]) {
        if !restored.is_empty() {
            self.found.nics.retain(|nic| !restored.contains(nic));
            self.write();
        }
    }

    /// The kernel is changed all the same: packets would be lost otherwise.
    fn write(&self) {
        if let Err(error) = self.found.write(&self.paths, self.engine) {
            let error = ErrorChain(&error);
            tracing::warn!(%error, "cannot write what was switched off at NICs: another agent would leave it off");
        }
    }
}

/// Switches on again what was found on. A NIC that is gone needs nothing, and the engine has let
/// the others go: what their drivers refuse is logged.
pub(super) fn restore(kernel: &mut impl Nics, nics: &[ChangedNic], observed: &ObservedNics) {
    for ChangedNic { index, mac, found_on } in nics {
        let is_there = observed.nics.get(index).is_some_and(|nic| nic.macs.contains(&mac.octets()));
        let found_on = |offload: &ReceiveOffload| found_on.contains(offload.kernel_name());
        for offload in ReceiveOffload::ALL.into_iter().filter(found_on).filter(|_| is_there) {
            if let Err(error) = kernel.set_receive_offload(*index, offload, true) {
                tracing::warn!(error = %ErrorChain(&error), "cannot leave a NIC as it was found");
            }
        }
    }
}
