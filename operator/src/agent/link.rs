//! The engines as sources: a connection to each that is made anew for ever, and what it shows.

mod folder;
mod open_vswitch;
mod vpp;

pub(super) use folder::{FolderGone, check as check_folder};
pub(super) use open_vswitch::OpenVswitchLink;
pub(super) use vpp::VppLink;

use super::observe::EngineUp;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use usnet_crds::Engine;
use usnet_dataplane::engine::{self, EngineError};

/// A connection to an engine.
pub(super) trait Link {
    /// Which one.
    const ENGINE: Engine;
    /// The shortest time between two looks at it, of which a storm of events makes many.
    const PAUSE: Duration;
    /// What tells of changes.
    type State;
    /// Its driver.
    type Driver: engine::Engine;

    /// The engine's control socket.
    fn socket(&self) -> &Path;

    /// A way to wait for changes.
    fn states(&self) -> watch::Receiver<Self::State>;

    /// The driver of the engine.
    fn driver(&self) -> Self::Driver;

    /// The engine as it is now.
    async fn look(&mut self) -> Sight;

    /// Whether there is another connection than at the last call, and so another engine, perhaps an empty one.
    fn take_arrival(&mut self) -> Option<Arrival>;

    /// Takes in why the engine as a whole did not do what it was asked.
    fn gave_up(&mut self, error: &EngineError);

    /// When to look again although nothing changed, while the engine is up.
    fn look_again(&self) -> Option<Instant>;
}

/// What a look at an engine showed.
#[derive(Debug)]
pub(super) enum Sight {
    /// It answers and acts.
    Up(EngineUp),
    /// There is no connection.
    Disconnected {
        /// Why, for people.
        message: String,
        /// Whether the first try is not over.
        is_first_try: bool,
    },
    /// There is one, but the engine does not do what it is there for.
    NotActing {
        /// Why, for people.
        message: String,
    },
}

/// A new connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Whether the engine had another life before, which this agent saw.
    pub is_new_life: bool,
}
