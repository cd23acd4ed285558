//! The connection to Open vSwitch's database, and what is observed through it.

mod vswitchd_liveness;

use crate::agent::engines::watcher::{EngineState, EngineWatcher, Reconnected};
use crate::agent::model::engine_view::EngineUp;
use crate::display::ErrorChain;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node as message;
use usnet_dataplane::engine::EngineError;
use usnet_dataplane::ovs::{EmptyDatabase, OpenVswitch, observed_from};
use usnet_ovsdb::asynchronous::{Handle, Options, Session, Snapshot, State};
use usnet_ovsdb::{Error, ReplyError};
use vswitchd_liveness::{STALL_TIMEOUT, VswitchdLiveness};

/// The connection to Open vSwitch.
#[derive(Debug)]
pub(crate) struct OpenVswitchWatcher {
    session: Session,
    states: watch::Receiver<State>,
    socket: PathBuf,
    liveness: VswitchdLiveness,
    /// The number of the last connection that was used; 0 before the first.
    connection: u64,
    reconnected: Option<Reconnected>,
}

impl OpenVswitchWatcher {
    /// Connects, and reconnects indefinitely. Must be called inside a tokio runtime.
    pub(crate) fn connect(socket: &Path) -> Self {
        let session = Session::start(Options::new(socket));
        let states = session.state();
        let liveness = VswitchdLiveness::new(Instant::now());
        Self { session, states, socket: socket.to_owned(), liveness, connection: 0, reconnected: None }
    }

    fn read(&mut self, snapshot: &Snapshot) -> Result<EngineState, EngineError> {
        let root = snapshot.cache.open_vswitch().map_err(ReplyError::from)?.ok_or(EmptyDatabase)?;
        if !self.liveness.update(root.next_cfg, root.cur_cfg, Instant::now()) {
            let waited = STALL_TIMEOUT.as_secs();
            return Ok(self.stalled(&message::no_change_within(waited)));
        }
        Ok(EngineState::Up(EngineUp { observed: observed_from(&snapshot.cache)?, version: root.ovs_version }))
    }

    fn stalled(&self, problem: &str) -> EngineState {
        EngineState::Stalled { message: message::vswitchd_stalled(&self.socket, problem) }
    }

    fn record_connection(&mut self, connection: u64) {
        if self.connection != connection {
            // The database does not say whether it was restarted: each new connection counts as a
            // restart.
            self.reconnected = Some(Reconnected { restarted: self.connection != 0 });
            self.connection = connection;
        }
    }
}

impl EngineWatcher for OpenVswitchWatcher {
    const ENGINE: EngineKind = EngineKind::OpenVswitch;
    /// An observation only reads what the session has in memory already.
    const MIN_INTERVAL: Duration = Duration::ZERO;
    type SessionState = State;
    type Driver = OpenVswitch<Handle>;

    fn socket(&self) -> &Path {
        &self.socket
    }

    fn subscribe(&self) -> watch::Receiver<State> {
        self.session.state()
    }

    fn driver(&self) -> OpenVswitch<Handle> {
        OpenVswitch::new(self.session.handle())
    }

    async fn observe(&mut self) -> EngineState {
        let state = self.states.borrow().clone();
        match state {
            State::Disconnected { reason } => EngineState::Disconnected {
                message: ErrorChain(&*reason).to_string(),
                is_first_attempt: matches!(*reason, Error::NotYetConnected { .. }),
            },
            State::Connected(snapshot) => {
                self.record_connection(snapshot.epoch);
                self.read(&snapshot).unwrap_or_else(|error| self.stalled(&ErrorChain(&error).to_string()))
            }
        }
    }

    fn take_reconnect(&mut self) -> Option<Reconnected> {
        self.reconnected.take()
    }

    fn on_engine_error(&mut self, error: &EngineError) {
        if matches!(error, EngineError::NotActing { .. }) {
            self.liveness.on_timeout();
        }
    }

    fn next_observation(&self) -> Option<Instant> {
        self.liveness.next_check()
    }
}
