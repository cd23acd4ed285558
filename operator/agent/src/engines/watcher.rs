//! The interface between a reconciler and the connection to its engine.

use crate::model::engine_view::EngineUp;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use usnet_crds::EngineKind;
use usnet_dataplane::engine::{EngineDriver, EngineError};
use usnet_dataplane::plan::Op;

/// A connection to an engine.
pub(crate) trait EngineWatcher: fmt::Debug {
    const ENGINE: EngineKind;
    /// The minimum time between two observations that events of the engine trigger. A longer time
    /// means less load on the engine in a burst of events, and later repairs.
    const MIN_INTERVAL: Duration;
    /// A value that changes whenever the engine may have changed.
    type SessionState: fmt::Debug;
    type Driver: EngineDriver;

    /// The path of the engine's control socket, for the network files and messages.
    fn socket(&self) -> &Path;

    /// Subscribes to changes of the session, and to other signs that the engine may have changed.
    fn subscribe(&self) -> watch::Receiver<Self::SessionState>;

    fn driver(&self) -> Self::Driver;

    /// Observes the engine as it is now.
    async fn observe(&mut self) -> EngineState;

    /// Observes the engine after these operations were applied to what was observed `before`. A
    /// watcher may read only what they changed.
    async fn observe_changed(&mut self, _before: EngineUp, _operations: &[Op]) -> EngineState {
        self.observe().await
    }

    /// Whether the last observation is recent, and the engine has reported nothing since, so that
    /// another one is not worth its cost.
    fn is_unchanged(&self) -> bool {
        false
    }

    /// Returns the reconnect since the last call, if there was one: the engine may have lost
    /// everything.
    fn take_reconnect(&mut self) -> Option<Reconnected>;

    /// Called when the engine as a whole did not carry out operations.
    fn on_engine_error(&mut self, error: &EngineError);

    /// When to observe the engine again although it reported no change, while it is up; none if its
    /// session reports every change.
    fn next_observation(&self) -> Option<Instant>;
}

/// The observed state of an engine.
#[derive(Debug)]
pub(crate) enum EngineState {
    /// The engine answers and applies changes.
    Up(EngineUp),
    /// There is no connection.
    Disconnected {
        /// Why, for users.
        message: String,
        /// Whether the first attempt to connect is still under way.
        is_first_attempt: bool,
        /// Whether the cause is the end of its process.
        has_ended: bool,
    },
    /// There is a connection, but the engine does not apply changes, or does not answer.
    Stalled {
        /// Why, for users.
        message: String,
        /// Whether the cause is the end of its process.
        has_ended: bool,
    },
}

/// A new connection to an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reconnected {
    /// Whether the engine was restarted since this agent was last connected to it.
    pub restarted: bool,
    /// Whether the engine's process is known to have ended since then.
    pub has_ended: bool,
}
