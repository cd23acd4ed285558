//! The connection to Open vSwitch's database, and what it shows.

use super::{Arrival, Link, Sight};
use crate::agent::acting::{Acting, PATIENCE};
use crate::agent::observe::EngineUp;
use crate::error_chain::ErrorChain;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use usnet_crds::Engine;
use usnet_dataplane::engine::EngineError;
use usnet_dataplane::ovs::{OpenVswitch, observed_from};
use usnet_ovsdb::asynchronous::{Handle, Options, Session, Snapshot, State};
use usnet_ovsdb::{Error, ReplyError};

/// The connection to Open vSwitch.
#[derive(Debug)]
pub(in crate::agent) struct OpenVswitchLink {
    session: Session,
    states: watch::Receiver<State>,
    socket: PathBuf,
    acting: Acting,
    /// The number of the last connection that was used; 0 before the first.
    connection: u64,
    arrival: Option<Arrival>,
}

impl OpenVswitchLink {
    /// Connects now and for ever. Must be called inside a tokio runtime.
    pub(in crate::agent) fn connect(socket: &Path) -> Self {
        let session = Session::start(Options::new(socket));
        let states = session.state();
        let acting = Acting::new(Instant::now());
        Self { session, states, socket: socket.to_owned(), acting, connection: 0, arrival: None }
    }

    fn read(&mut self, snapshot: &Snapshot) -> Result<Sight, EngineError> {
        let root = snapshot.cache.open_vswitch().map_err(ReplyError::from)?.ok_or(EngineError::OpenVswitchEmpty)?;
        if !self.acting.sees(root.next_cfg, root.cur_cfg, Instant::now()) {
            let waited = PATIENCE.as_secs();
            return Ok(self.not_acting(&format!("no change was carried out for {waited} s")));
        }
        Ok(Sight::Up(EngineUp { observed: observed_from(&snapshot.cache)?, version: root.ovs_version }))
    }

    fn not_acting(&self, problem: &str) -> Sight {
        let socket = self.socket.display();
        let message =
            format!("Open vSwitch's database at {socket} answers, but ovs-vswitchd does not act on it: {problem}");
        Sight::NotActing { message }
    }

    fn count(&mut self, connection: u64) {
        if self.connection != connection {
            // The database does not say whether it is the same: each connection counts as a new life.
            self.arrival = Some(Arrival { is_new_life: self.connection != 0 });
            self.connection = connection;
        }
    }
}

impl Link for OpenVswitchLink {
    const ENGINE: Engine = Engine::OpenVswitch;
    /// A look reads what the session has in memory already.
    const PAUSE: Duration = Duration::ZERO;
    type State = State;
    type Driver = OpenVswitch<Handle>;

    fn socket(&self) -> &Path {
        &self.socket
    }

    fn states(&self) -> watch::Receiver<State> {
        self.session.state()
    }

    fn driver(&self) -> OpenVswitch<Handle> {
        OpenVswitch::new(self.session.handle())
    }

    async fn look(&mut self) -> Sight {
        let state = self.states.borrow().clone();
        match state {
            State::Disconnected { reason } => Sight::Disconnected {
                message: ErrorChain(&*reason).to_string(),
                is_first_try: matches!(*reason, Error::NotYetConnected { .. }),
            },
            State::Connected(snapshot) => {
                self.count(snapshot.epoch);
                self.read(&snapshot).unwrap_or_else(|error| self.not_acting(&ErrorChain(&error).to_string()))
            }
        }
    }

    fn take_arrival(&mut self) -> Option<Arrival> {
        self.arrival.take()
    }

    fn gave_up(&mut self, error: &EngineError) {
        if matches!(error, EngineError::NotActing { .. }) {
            self.acting.gave_up();
        }
    }

    fn look_again(&self) -> Option<Instant> {
        self.acting.look_again()
    }
}
