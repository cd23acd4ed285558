//! The state that a session publishes.

use super::Instance;
use crate::Error;
use crate::endpoint::Table;
use std::sync::Arc;
use tokio::sync::watch;

/// The state of a session.
#[derive(Debug, Clone)]
pub enum State {
    /// There is no connection; the session keeps trying.
    Disconnected {
        /// Why.
        reason: Arc<Error>,
    },
    /// There is a connection, and interface events are subscribed to.
    Connected(Connected),
}

/// A VPP that a session is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// The number of the connection, from 1.
    pub epoch: u64,
    /// VPP's release, such as `26.06-release`.
    pub version: String,
    /// Interface events since it was connected. When it grew, read the interfaces again.
    pub changes: u64,
    /// The run of VPP: equal until VPP is restarted, however often the session reconnects.
    pub instance: Instance,
    /// Whether this is another run of VPP than that of the connection before. The first one is not.
    pub restarted: bool,
}

impl State {
    /// The VPP, while there is a connection.
    #[must_use]
    pub const fn connected(&self) -> Option<&Connected> {
        match self {
            Self::Connected(connected) => Some(connected),
            Self::Disconnected { .. } => None,
        }
    }
}

/// What the task publishes.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) state: watch::Sender<State>,
    /// What VPP knew when it was last connected.
    pub(super) table: watch::Sender<Arc<Table>>,
}
