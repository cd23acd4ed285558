//! Operations whose last attempt failed. They are not retried on every event, because an attempt
//! causes an event itself. Pure.

use usnet_dataplane::engine::OpError;
use usnet_dataplane::plan::{Op, PlannedOp};

/// The failed operations of one engine, and why they failed.
#[derive(Debug, Default)]
pub(crate) struct FailedOperations(Vec<(Op, OpError)>);

impl FailedOperations {
    pub(crate) fn add(&mut self, operation: Op, error: OpError) {
        self.0.push((operation, error));
    }

    /// Returns the planned operations without those that failed before, unless their `retry` is
    /// due. Forgets failures of operations that are no longer planned.
    pub(crate) fn skip_backed_off(&mut self, mut planned: Vec<PlannedOp>, retry: bool) -> Vec<PlannedOp> {
        self.0.retain(|(failed, _)| !retry && planned.iter().any(|planned| planned.op == *failed));
        planned.retain(|planned| !self.0.iter().any(|(failed, _)| *failed == planned.op));
        planned
    }

    /// Forgets failures of operations that no longer remain to be done.
    pub(crate) fn retain_remaining(&mut self, remaining: &[Op]) {
        self.0.retain(|(failed, _)| remaining.contains(failed));
    }

    /// Forgets all failures, so that everything is attempted at once.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn as_slice(&self) -> &[(Op, OpError)] {
        &self.0
    }
}
