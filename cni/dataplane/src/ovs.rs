//! The driver for Open vSwitch, through its database.
//!
//! A network is a bridge with `datapath_type=netdev`, an attachment a port on it with one interface
//! of type `dpdkvhostuserclient`. Both carry ownership tags in `external_ids` ([`NETWORK_KEY`],
//! [`ATTACHMENT_KEY`]); rows without them are only read.
//!
//! [`apply`](Engine::apply) needs two round trips if there is no conflict: the transaction, and the
//! wait for the switch together with the query for the result. A list of operations is one
//! transaction however long it is, because the switch's work for each transaction grows with its
//! configuration. The exception is a name that is deleted and created again.

mod apply;
mod batch;
mod decide;
mod legacy;
mod limits;
mod observe;
mod settings;
mod snapshot;
mod tags;
#[cfg(test)]
mod tests;
mod verify;

pub use tags::{ATTACHMENT_KEY, NETWORK_KEY};

use crate::engine::{Engine, EngineError, OpError};
use crate::observed::Observed;
use crate::plan::Op;
use snapshot::OvsSnapshot;
use std::time::Duration;
use usnet_ovsdb::{Cache, Database, Transaction};

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

    /// All rows of one moment.
    async fn read_snapshot(&mut self) -> Result<OvsSnapshot, EngineError> {
        let mut transaction = Transaction::new();
        let selected = OvsSnapshot::select(&mut transaction);
        let reply = self.database.transact(&transaction).await?;
        OvsSnapshot::from_reply(&reply, &selected)
    }
}

impl<D: Database + Send> Engine for OpenVswitch<D> {
    async fn observe(&mut self) -> Result<Observed, EngineError> {
        Ok(observe::observe(&self.read_snapshot().await?))
    }

    async fn apply(&mut self, operations: &[Op]) -> Result<Vec<Result<(), OpError>>, EngineError> {
        let mut results = Vec::with_capacity(operations.len());
        for phase in apply::phases(operations) {
            results.extend(self.apply_phase(phase).await?);
        }
        Ok(results)
    }
}

/// The observed state, as by [`Engine::observe`], from the rows of a session.
///
/// # Errors
/// The session has not read the database yet, or a row has an unexpected type.
pub fn observed_from(cache: &Cache) -> Result<Observed, EngineError> {
    OvsSnapshot::from_cache(cache).map(|snapshot| observe::observe(&snapshot))
}
