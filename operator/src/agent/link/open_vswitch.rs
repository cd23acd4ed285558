//! The engine as a source: the connection to Open vSwitch's database, made anew for ever, and what it shows.

use super::acting::{Acting, PATIENCE};
use super::observe::{EngineUp, EngineView, Outage};
use super::reason::NOT_ACTING;
use crate::error_chain::ErrorChain;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::sync::watch;
use usnet_crds::conditions::reason::{DISCONNECTED, NEVER_SEEN};
use usnet_dataplane::engine::EngineError;
use usnet_dataplane::ovs::{OpenVswitch, observed_from};
use usnet_ovsdb::asynchronous::{Handle, Options, Session, Snapshot};
use usnet_ovsdb::{Error, ReplyError};

pub(super) use usnet_ovsdb::asynchronous::State;

/// The connection to Open vSwitch.
#[derive(Debug)]
pub(super) struct Link {
    session: Session,
    states: watch::Receiver<State>,
    socket: PathBuf,
    acting: Acting,
    /// The number of the last connection that was used; 0 before the first.
    connection: u64,
    came_back: bool,
}

impl Link {
    /// Connects now and for ever. Must be called inside a tokio runtime.
    pub(super) fn connect(socket: &Path) -> Self {
        let session = Session::start(Options::new(socket));
        let states = session.state();
        let acting = Acting::new(Instant::now());
        Self { session, states, socket: socket.to_owned(), acting, connection: 0, came_back: false }
    }

    /// A way to wait for changes.
    pub(super) fn states(&self) -> watch::Receiver<State> {
        self.session.state()
    }

    /// The driver of the engine.
    pub(super) fn engine(&self) -> OpenVswitch<Handle> {
        OpenVswitch::new(self.session.handle())
    }

    /// The engine as it is now; none while the first connection is being tried.
    pub(super) fn view(&mut self, now: Instant, has_been_seen: bool) -> Option<EngineView> {
        let state = self.states.borrow().clone();
        match state {
            State::Disconnected { reason } if matches!(*reason, Error::NotYetConnected { .. }) => None,
            State::Disconnected { reason } => {
                let in_one_word = if has_been_seen { DISCONNECTED } else { NEVER_SEEN };
                Some(EngineView::Down(Outage { reason: in_one_word, message: ErrorChain(&*reason).to_string() }))
            }
            State::Connected(snapshot) => {
                self.count(snapshot.epoch);
                let read = self.read(&snapshot, now);
                Some(read.unwrap_or_else(|error| EngineView::Down(self.not_acting(&ErrorChain(&error).to_string()))))
            }
        }
    }

    fn read(&mut self, snapshot: &Snapshot, now: Instant) -> Result<EngineView, EngineError> {
        let root = snapshot.cache.open_vswitch().map_err(ReplyError::from)?.ok_or(EngineError::OpenVswitchEmpty)?;
        if !self.acting.sees(root.next_cfg, root.cur_cfg, now) {
            let waited = PATIENCE.as_secs();
            return Ok(EngineView::Down(self.not_acting(&format!("no change was carried out for {waited} s"))));
        }
        Ok(EngineView::Up(EngineUp { observed: observed_from(&snapshot.cache)?, version: root.ovs_version }))
    }

    fn not_acting(&self, problem: &str) -> Outage {
        let socket = self.socket.display();
        let message =
            format!("Open vSwitch's database at {socket} answers, but ovs-vswitchd does not act on it: {problem}");
        Outage { reason: NOT_ACTING, message }
    }

    fn count(&mut self, connection: u64) {
        self.came_back |= self.connection != 0 && self.connection != connection;
        self.connection = connection;
    }

    /// Whether there was another connection before the present one; says so once for each.
    pub(super) fn take_came_back(&mut self) -> bool {
        std::mem::take(&mut self.came_back)
    }

    /// Takes in why the engine as a whole did not do what it was asked.
    pub(super) fn gave_up(&mut self, error: &EngineError) {
        if matches!(error, EngineError::NotActing { .. }) {
            self.acting.gave_up();
        }
    }

    /// When to look again although nothing changed.
    pub(super) fn look_again(&self) -> Option<Instant> {
        self.acting.look_again()
    }
}
