//! The claims that are being prepared or unprepared. kubelet repeats a call that it no longer waits
//! for, while the first one still runs in a task of its own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use usnet_dataplane::attachment::ClaimUid;

/// The claims that are in work.
#[derive(Debug, Clone, Default)]
pub(super) struct Busy(Arc<Mutex<BTreeSet<ClaimUid>>>);

/// Keeps a claim in work until this is dropped.
#[derive(Debug)]
pub(super) struct Entered {
    busy: Busy,
    claim: ClaimUid,
}

impl Busy {
    /// Begins work on a claim; none if another call is working on it.
    pub(super) fn enter(&self, claim: &ClaimUid) -> Option<Entered> {
        let is_new = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(claim.clone());
        is_new.then(|| Entered { busy: self.clone(), claim: claim.clone() })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.busy.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.claim);
    }
}
