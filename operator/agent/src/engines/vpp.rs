//! The connection to VPP's binary API.

use super::watcher::{EngineState, EngineWatcher, Reconnected};
use crate::model::engine_view::EngineUp;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node::vpp_unreadable;
use usnet_dataplane::engine::{EngineDriver as _, EngineError};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::plan::Op;
use usnet_dataplane::vpp::Vpp;
use usnet_vpp::Error;
use usnet_vpp::asynchronous::{Connected, Handle, Instance, Options, Session, State};

/// How often VPP is polled. It sends events when interfaces are added, removed or connected, but
/// not for bridge domains, tags and MTUs, whose drift is repaired within this interval. A dump
/// takes VPP 2 us for each bridge domain and 5 us for each port, so that more frequent polls would
/// take noticeable time of a main thread that may forward packets too.
const POLL: Duration = Duration::from_secs(2);
/// The longest pause between two attempts to connect: pods have no network until a restarted VPP is
/// detected. Where there is none, each attempt costs the agent 0.3 ms.
const RETRY: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) struct VppWatcher {
    session: Session,
    states: watch::Receiver<State>,
    socket: PathBuf,
    memif_socket_ids: MemifSocketIds,
    /// The last connection that was used: its number and the VPP process behind it.
    connection: Option<(u64, Instance)>,
    /// How many interface events VPP had sent before it was last observed.
    observed_changes: u64,
    reconnected: Option<Reconnected>,
    poll_at: Option<Instant>,
}

impl VppWatcher {
    /// Connects, and reconnects indefinitely. Must be called inside a tokio runtime.
    pub(crate) fn connect(socket: &Path, memif_socket_ids: MemifSocketIds) -> Self {
        let session = Session::start(Options { retry_max: RETRY, ..Options::new(socket) });
        let states = session.states();
        let socket = socket.to_owned();
        Self {
            session,
            states,
            socket,
            memif_socket_ids,
            connection: None,
            observed_changes: 0,
            reconnected: None,
            poll_at: None,
        }
    }

    /// Whether this is still the connection of the last observation, without an event since.
    fn is_as_observed(&self, connected: &Connected) -> bool {
        self.connection == Some((connected.epoch, connected.instance)) && self.observed_changes == connected.changes
    }

    async fn read(&mut self, connected: Connected) -> EngineState {
        self.observed_changes = connected.changes;
        let now = (connected.epoch, connected.instance);
        if self.connection != Some(now) {
            let restarted = self.connection.is_some_and(|(_, instance)| instance != connected.instance);
            self.reconnected = Some(Reconnected { restarted, has_ended: restarted });
            self.connection = Some(now);
        }
        match self.driver().observe().await {
            Ok(observed) => EngineState::Up(EngineUp {
                observed: Arc::new(observed),
                version: Some(connected.version),
                warning: None,
            }),
            Err(error) => match &*self.states.borrow() {
                // The connection was lost meanwhile, and the session knows why.
                State::Disconnected { reason } => disconnected(reason),
                State::Connected(_) => EngineState::Stalled {
                    message: vpp_unreadable(&self.socket, &ErrorChain(&error)),
                    has_ended: false,
                },
            },
        }
    }
}

fn disconnected(reason: &Error) -> EngineState {
    EngineState::Disconnected {
        message: ErrorChain(reason).to_string(),
        is_first_attempt: matches!(reason, Error::NotYetConnected { .. }),
        // VPP closes connections, and its socket refuses them, only when the process has ended.
        has_ended: matches!(reason, Error::Closed { .. } | Error::Io { .. } | Error::Connect { .. }),
    }
}

impl EngineWatcher for VppWatcher {
    const ENGINE: EngineKind = EngineKind::Vpp;
    /// VPP's main thread answers, and on a small VPP forwards packets as well: a burst of
    /// connecting clients must not keep it answering all the time.
    const MIN_INTERVAL: Duration = Duration::from_millis(100);
    type SessionState = State;
    type Driver = Vpp<Handle>;

    fn socket(&self) -> &Path {
        &self.socket
    }

    fn subscribe(&self) -> watch::Receiver<State> {
        self.session.states()
    }

    fn driver(&self) -> Vpp<Handle> {
        Vpp::new(self.session.handle(), self.memif_socket_ids)
    }

    async fn observe(&mut self) -> EngineState {
        let state = self.states.borrow().clone();
        let observed = match state {
            State::Connected(connected) => self.read(connected).await,
            State::Disconnected { reason } => disconnected(&reason),
        };
        self.poll_at = Some(Instant::now() + POLL);
        observed
    }

    /// Bridge domains that were created or changed are read alone: with a thousand of them, reading
    /// all takes as long as all else that a new network needs.
    async fn observe_changed(&mut self, before: EngineUp, operations: &[Op]) -> EngineState {
        let state = self.states.borrow().clone();
        if matches!(&state, State::Connected(connected) if self.is_as_observed(connected))
            && let Ok(observed) = self.driver().observe_changed(Arc::unwrap_or_clone(before.observed), operations).await
        {
            return EngineState::Up(EngineUp { observed: Arc::new(observed), version: before.version, warning: None });
        }
        self.observe().await
    }

    fn is_unchanged(&self) -> bool {
        let is_recent = self.poll_at.is_some_and(|at| Instant::now() < at);
        is_recent && matches!(&*self.states.borrow(), State::Connected(connected) if self.is_as_observed(connected))
    }

    fn take_reconnect(&mut self) -> Option<Reconnected> {
        self.reconnected.take()
    }

    fn on_engine_error(&mut self, _error: &EngineError) {}

    fn next_observation(&self) -> Option<Instant> {
        self.poll_at
    }
}
