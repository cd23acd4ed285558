//! The driver for Open vSwitch on a database session.

use super::snapshot::OvsSnapshot;
use super::{apply, observe};
use crate::engine::driver::Engine;
use crate::engine::error::{EngineError, OpError};
use crate::model::observed::Observed;
use crate::plan::Op;
use std::time::Duration;
use usnet_ovsdb::{Cache, Database};

/// How long the switch may take for one operation; each further one of the same list adds a little.
///
/// One port takes 140 ms on a switch with 1,000. A pod that starts must have an answer within 5 s.
pub const TIMEOUT: Duration = Duration::from_secs(4);

/// Open vSwitch on this node.
#[derive(Debug)]
pub struct OpenVswitch<D> {
    pub(super) database: D,
    timeout: Duration,
}

impl<D: Database + Send> OpenVswitch<D> {
    /// The switch of this database, which gets [`TIMEOUT`] to act.
    pub fn new(database: D) -> Self {
        Self { database, timeout: TIMEOUT }
    }

    /// Gives the switch another time to act on one operation.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }
}

impl<D: Database + Send> Engine for OpenVswitch<D> {
    async fn observe(&mut self) -> Result<Observed, EngineError> {
        Ok(observe::observe(&OvsSnapshot::read(&mut self.database).await?))
    }

    async fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        apply::apply(&mut self.database, self.timeout, operations).await
    }
}

/// The observed state, as by [`Engine::observe`], from the rows of a session.
///
/// # Errors
/// The session has not read the database yet, or a row has an unexpected type.
pub fn observed_from(cache: &Cache) -> Result<Observed, EngineError> {
    OvsSnapshot::from_cache(cache).map(|snapshot| observe::observe(&snapshot))
}
