//! The interface of this crate to a software switch.

use super::committed::Committed;
use super::error::{EngineError, OpError};
use crate::legacy::port::{LegacyPort, LegacyPortLocation};
use crate::model::observed::Observed;
use crate::plan::Op;
use std::future::Future;
use std::time::Duration;
use usnet_crds::EngineKind;

/// The driver of a software switch of this node. Drivers keep no state that matters: everything is
/// found again by ownership tags.
///
/// A driver is built on a session with its switch. On an async session its futures need a runtime;
/// on a blocking session they complete at the first poll, and the driver is also a
/// [`BlockingDriver`](super::BlockingDriver).
pub trait EngineDriver {
    /// Which engine this is, for errors.
    const ENGINE: EngineKind;

    /// Reads everything that [`diff`](crate::plan::diff) compares. A failed read is an error and
    /// never looks like an empty switch.
    fn observe(&mut self) -> impl Future<Output = Result<Observed, EngineError>> + Send;

    /// Reads what operations were about, after they were applied, and updates what was observed
    /// before them. The caller must know that nothing else has changed since.
    fn observe_changed(
        &mut self,
        _before: Observed,
        _operations: &[Op],
    ) -> impl Future<Output = Result<Observed, EngineError>> + Send {
        self.observe()
    }

    /// Applies operations in order, waits until the engine has acted on them, and returns a result
    /// for each. Operations are idempotent: one that has no effect any more succeeds. Objects
    /// without an ownership tag of usnet are never changed.
    ///
    /// There are as many results as operations, in the same order.
    fn apply(
        &mut self,
        operations: &[Op],
    ) -> impl Future<Output = Result<Vec<Result<(), OpError>>, EngineError>> + Send;

    /// Like [`Self::apply`], but does not wait for the engine to act: what was accepted is applied
    /// by it as soon as it can, also after its own restart. For a removal that is all a caller
    /// needs.
    fn commit(&mut self, operations: &[Op]) -> impl Future<Output = Result<Committed, EngineError>> + Send;

    /// Waits until the engine has acted on operations that were committed, and returns a result for
    /// each.
    fn complete(
        &mut self,
        operations: &[Op],
        committed: Committed,
    ) -> impl Future<Output = Result<Vec<Result<(), OpError>>, EngineError>> + Send;

    /// Changes how long the engine may take to act on one operation. Ignored for an engine that
    /// replies only when it has acted: there the timeout of the session applies.
    fn set_apply_timeout(&mut self, _timeout: Duration) {}

    /// Deletes a port that the legacy userspace CNI created, if it exists. Its bridge is kept, even
    /// if this was its last port.
    fn remove_legacy_port(
        &mut self,
        port: LegacyPortLocation<'_>,
    ) -> impl Future<Output = Result<LegacyPort, EngineError>> + Send;
}
