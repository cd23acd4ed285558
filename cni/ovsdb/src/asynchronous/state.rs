//! The state that a session publishes.

use crate::{Cache, Error};
use std::sync::Arc;

/// The state of a session. Without a connection there is no copy at all: a stale one could be
/// mistaken for the current state.
#[derive(Debug, Clone)]
pub enum State {
    /// There is no connection; the session keeps trying.
    Disconnected {
        /// Why.
        reason: Arc<Error>,
    },
    /// There is a connection, and all rows were read over it.
    Connected(Snapshot),
}

/// A copy of the watched tables at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The number of the connection, from 1: if it changed, everything was read again.
    pub epoch: u64,
    /// The rows.
    pub cache: Arc<Cache>,
}

impl State {
    /// The copy, while there is a connection.
    #[must_use]
    pub fn snapshot(&self) -> Option<&Snapshot> {
        match self {
            Self::Connected(snapshot) => Some(snapshot),
            Self::Disconnected { .. } => None,
        }
    }
}
