//! What a reconciler needs from the connection to its engine.

use crate::agent::model::engine_view::EngineUp;
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use usnet_crds::EngineKind;
use usnet_dataplane::engine::{EngineDriver, EngineError};
use usnet_dataplane::plan::Op;

/// A connection to an engine.
pub(crate) trait EngineWatcher: fmt::Debug {
    /// Which engine it is.
    const ENGINE: EngineKind;
    /// The shortest time between two observations that events of the engine cause. It trades the
    /// engine's load under a burst of events for the delay of repairs.
    const MIN_INTERVAL: Duration;
    /// What changes whenever the engine may have.
    type SessionState: fmt::Debug;
    /// The driver that observes it and applies operations.
    type Driver: EngineDriver;

    /// The engine's control socket, for the network files and messages.
    fn socket(&self) -> &Path;

    /// Changes of the session, and of whatever else says that the engine may have changed.
    fn subscribe(&self) -> watch::Receiver<Self::SessionState>;

    /// The driver of the engine.
    fn driver(&self) -> Self::Driver;

    /// The engine as it is now.
    async fn observe(&mut self) -> EngineState;

    /// The engine after these operations were applied to what was observed `before`.
    async fn observe_changed(&mut self, _before: EngineUp, _operations: &[Op]) -> EngineState {
        self.observe().await
    }

    /// Whether the last observation is recent, and the engine has reported nothing since: another
    /// one would cost more than it tells.
    fn is_unchanged(&self) -> bool {
        false
    }

    /// The reconnect since the last call, if there was one: the engine may have lost everything.
    fn take_reconnect(&mut self) -> Option<Reconnected>;

    /// Called when the engine as a whole did not carry out operations.
    fn on_engine_error(&mut self, error: &EngineError);

    /// When to observe it again although it reported no change, while it is up; none when its
    /// session reports every change.
    fn next_observation(&self) -> Option<Instant>;
}

/// The state of an engine, as it was observed.
#[derive(Debug)]
pub(crate) enum EngineState {
    /// It answers and applies changes.
    Up(EngineUp),
    /// There is no connection.
    Disconnected {
        /// Why, for users.
        message: String,
        /// Whether the first attempt to connect is still under way.
        is_first_attempt: bool,
        /// Whether that is because its process ended.
        has_ended: bool,
    },
    /// There is a connection, but the engine does not apply changes, or does not answer.
    Stalled {
        /// Why, for users.
        message: String,
        /// Whether that is because its process ended.
        has_ended: bool,
    },
}

/// A new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reconnected {
    /// Whether the engine was restarted since this agent was last connected to it.
    pub restarted: bool,
    /// Whether its process is known to have ended since then.
    pub has_ended: bool,
}
