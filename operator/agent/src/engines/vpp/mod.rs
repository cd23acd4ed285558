//! The connection to VPP's binary API, and the access lists of policies.

mod policies;

use super::watcher::{EngineState, EngineWatcher, Reconnected};
use crate::model::engine_view::EngineUp;
use policies::AclKeeper;
pub(crate) use policies::AclSources;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;
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
    acls: AclKeeper,
    /// What was last observed of them.
    enforced: watch::Receiver<policies::ByNetwork>,
    /// Changes of the session, and of which policies are enforced.
    changes: watch::Receiver<()>,
    _tasks: JoinSet<()>,
}

impl VppWatcher {
    /// Connects, and reconnects indefinitely. Must be called inside a tokio runtime.
    pub(crate) fn connect(socket: &Path, memif_socket_ids: MemifSocketIds, sources: AclSources) -> Self {
        let session = Session::start(Options { retry_max: RETRY, ..Options::new(socket) });
        let states = session.states();
        let socket = socket.to_owned();
        let acls = AclKeeper::new(&sources);
        let (changes_of_task, changes) = watch::channel(());
        let mut tasks = JoinSet::new();
        tasks.spawn(acls.clone().follow(session.handle(), sources));
        tasks.spawn(merge(session.states(), acls.subscribe(), changes_of_task));
        Self {
            session,
            states,
            socket,
            memif_socket_ids,
            connection: None,
            observed_changes: 0,
            reconnected: None,
            poll_at: None,
            enforced: acls.subscribe(),
            acls,
            changes,
            _tasks: tasks,
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
        self.enforced.mark_unchanged();
        match self.driver().observe().await {
            Ok(mut observed) => {
                self.acls.add_to(&mut observed);
                EngineState::Up(EngineUp {
                    observed: Arc::new(observed),
                    version: Some(connected.version),
                    warning: None,
                })
            }
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

/// Sends a value for each change of the session, and of which policies are enforced.
async fn merge(
    mut states: watch::Receiver<State>,
    mut enforced: watch::Receiver<policies::ByNetwork>,
    changes: watch::Sender<()>,
) {
    loop {
        let changed = tokio::select! {
            changed = states.changed() => changed,
            changed = enforced.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
        changes.send_replace(());
    }
}

impl EngineWatcher for VppWatcher {
    const ENGINE: EngineKind = EngineKind::Vpp;
    /// VPP's main thread answers, and on a small VPP forwards packets as well: a burst of
    /// connecting clients must not keep it answering all the time.
    const MIN_INTERVAL: Duration = Duration::from_millis(100);
    type SessionState = ();
    type Driver = Vpp<Handle>;

    fn socket(&self) -> &Path {
        &self.socket
    }

    fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.clone()
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
            && let Ok(mut observed) =
                self.driver().observe_changed(Arc::unwrap_or_clone(before.observed), operations).await
        {
            self.acls.add_to(&mut observed);
            return EngineState::Up(EngineUp { observed: Arc::new(observed), version: before.version, warning: None });
        }
        self.observe().await
    }

    fn is_unchanged(&self) -> bool {
        let is_recent = self.poll_at.is_some_and(|at| Instant::now() < at);
        let is_enforced_as_before = self.enforced.has_changed().is_ok_and(|has_changed| !has_changed);
        is_recent
            && is_enforced_as_before
            && matches!(&*self.states.borrow(), State::Connected(connected) if self.is_as_observed(connected))
    }

    fn take_reconnect(&mut self) -> Option<Reconnected> {
        self.reconnected.take()
    }

    fn on_engine_error(&mut self, _error: &EngineError) {}

    fn next_observation(&self) -> Option<Instant> {
        self.poll_at
    }
}
