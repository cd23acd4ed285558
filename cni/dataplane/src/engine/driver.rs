//! The interface of this crate to a software switch.

use super::error::{EngineError, OpError};
use crate::model::observed::Observed;
use crate::plan::Op;
use std::future::Future;

/// A software switch of this node. Drivers keep no state that matters: everything is found again by
/// ownership tags.
pub trait Engine {
    /// Reads everything that [`plan`](crate::plan::plan) compares. A failed read is an error and
    /// never looks like an empty switch.
    fn observe(&mut self) -> impl Future<Output = Result<Observed, EngineError>> + Send;

    /// Applies operations in order, waits until the engine has acted on them, and returns a result
    /// for each. Operations are idempotent: one that has no effect any more succeeds. Objects
    /// without an ownership tag of usnet are never changed.
    ///
    /// There are as many results as operations, in the same order.
    fn apply(
        &mut self,
        operations: &[Op],
    ) -> impl Future<Output = Result<Vec<Result<(), OpError>>, EngineError>> + Send;
}
