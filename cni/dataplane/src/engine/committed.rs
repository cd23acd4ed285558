//! What an engine has accepted and may not have applied yet.

use super::error::OpError;

/// Operations that an engine has accepted: it applies them whatever happens to the caller. Pass it
/// to [`EngineDriver::complete`](super::EngineDriver::complete) to wait for that.
#[derive(Debug)]
#[must_use = "it contains the errors of the operations"]
pub struct Committed {
    /// A result for each operation, in the same order.
    pub results: Vec<Result<(), OpError>>,
    /// The engine's index of the interface of the only operation, if that created a port and the
    /// engine has such indexes. It finds the interface again at once, and must be checked: the
    /// engine uses an index again.
    pub interface_index: Option<u32>,
    /// The configuration that the engine has to reach; `None` if it has applied the operations.
    pub(super) configuration: Option<i64>,
}

impl Committed {
    /// The results of operations that the engine has applied.
    pub(super) fn applied(results: Vec<Result<(), OpError>>) -> Self {
        Self { results, interface_index: None, configuration: None }
    }
}
