//! The driver for Open vSwitch on a database session.

use super::snapshot::OvsSnapshot;
use super::{apply, observe};
use crate::engine::blocking::NeverWaits;
use crate::engine::committed::Committed;
use crate::engine::driver::EngineDriver;
use crate::engine::error::{EngineError, OpError};
use crate::legacy::port::{LegacyPort, LegacyPortLocation};
use crate::model::observed::Observed;
use crate::plan::Op;
use std::time::Duration;
use usnet_crds::EngineKind;
use usnet_ovsdb::blocking::Client;
use usnet_ovsdb::{Cache, Database};

/// How long the switch may take for one operation; each further one of the same list adds a little.
///
/// One port takes 140 ms on a switch with 1,000. A pod that starts must have an answer within 5 s.
pub const TIMEOUT: Duration = Duration::from_secs(4);

/// Open vSwitch on this node.
#[derive(Debug)]
pub struct OpenVswitch<D> {
    database: D,
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

impl NeverWaits for Client {}
impl<D: NeverWaits> NeverWaits for OpenVswitch<D> {}

impl<D: Database + Send> EngineDriver for OpenVswitch<D> {
    const ENGINE: EngineKind = EngineKind::OpenVswitch;

    async fn observe(&mut self) -> Result<Observed, EngineError> {
        Ok(observe::observe(&OvsSnapshot::read(&mut self.database).await?))
    }

    async fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        apply::apply(&mut self.database, self.timeout, operations).await
    }

    async fn commit(&mut self, operations: &[Op]) -> Result<Committed, EngineError> {
        apply::commit(&mut self.database, self.timeout, operations).await
    }

    async fn complete(
        &mut self,
        operations: &[Op],
        committed: Committed,
    ) -> Result<Vec<Result<(), OpError>>, EngineError> {
        apply::complete(&mut self.database, self.timeout, operations, committed).await
    }

    fn set_apply_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    async fn remove_legacy_port(&mut self, port: LegacyPortLocation<'_>) -> Result<LegacyPort, EngineError> {
        apply::remove_legacy_port(&mut self.database, port).await
    }
}

/// The observed state, as by [`EngineDriver::observe`], from the rows of a session.
///
/// # Errors
/// The session has not read the database yet, or a row has an unexpected type.
pub fn observed_from(cache: &Cache) -> Result<Observed, EngineError> {
    OvsSnapshot::from_cache(cache).map(|snapshot| observe::observe(&snapshot))
}
