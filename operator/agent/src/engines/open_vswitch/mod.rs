//! The connection to Open vSwitch: its database, its process, and the flows of its bridges.

mod channels;
mod datapath_ports;
mod forwarding;
mod guards;
mod local_ports;
mod server_sockets;
mod status_refresh;
mod vswitchd_liveness;
mod vswitchd_process;

use crate::engines::watcher::{EngineState, EngineWatcher, Reconnected};
use crate::model::engine_view::EngineUp;
use channels::SwitchChannels;
use datapath_ports::DatapathProbe;
use forwarding::ForwardingProbe;
use guards::GuardKeeper;
pub(crate) use guards::PolicySources;
use status_refresh::StatusRefresh;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use usnet_common::display::ErrorChain;
use usnet_crds::EngineKind;
use usnet_crds::conditions::message::node as message;
use usnet_dataplane::engine::EngineError;
use usnet_dataplane::observed::{ElementState, Observed};
use usnet_dataplane::ovs::{EmptyDatabase, OpenVswitch, observed_from};
use usnet_ovsdb::asynchronous::{Options, Session, Snapshot, State};
use usnet_ovsdb::{Error, ReplyError, Transaction};
use vswitchd_liveness::{STALL_TIMEOUT, VswitchdLiveness};
use vswitchd_process::VswitchdProcess;

/// How long the database may take for a request whose result does not matter.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct OpenVswitchWatcher {
    session: Session,
    states: watch::Receiver<State>,
    socket: PathBuf,
    liveness: VswitchdLiveness,
    status_refresh: StatusRefresh,
    process: watch::Receiver<VswitchdProcess>,
    forwarding: ForwardingProbe,
    guards: GuardKeeper,
    datapath: DatapathProbe,
    /// The ports without memory at the last observation.
    without_memory: datapath_ports::ByBridge,
    /// The number of ends of the process after which the switch has applied the configuration
    /// again.
    recovered_ends: u64,
    /// Changes of the session, of the process, and of what the bridges say.
    changes: watch::Receiver<()>,
    _tasks: JoinSet<()>,
    /// The number of the last connection that was used; 0 before the first.
    connection: u64,
    reconnected: Option<Reconnected>,
}

impl OpenVswitchWatcher {
    /// Connects, and reconnects indefinitely. Must be called inside a tokio runtime.
    pub(crate) fn connect(socket: &Path, policies: PolicySources) -> Self {
        let session = Session::start(Options::new(socket));
        let states = session.state();
        let (process_of_task, process) = watch::channel(VswitchdProcess::default());
        let (changes_of_task, changes) = watch::channel(());
        let mut tasks = JoinSet::new();
        let folder = socket.parent().unwrap_or(Path::new("/")).to_owned();
        let (forwarding, datapath) = (ForwardingProbe::new(&folder), DatapathProbe::new(&folder));
        let guards = GuardKeeper::new(&folder);
        tasks.spawn(server_sockets::follow(folder.clone(), session.state()));
        tasks.spawn(local_ports::follow(folder.clone(), session.state(), process.clone()));
        tasks.spawn(vswitchd_process::follow(folder, session.handle(), process_of_task));
        tasks.spawn(forwarding.clone().follow(session.state(), process.clone()));
        tasks.spawn(guards.clone().follow(session.state(), process.clone(), policies));
        tasks.spawn(datapath.clone().follow(session.state(), process.clone()));
        let sources =
            (session.state(), process.clone(), forwarding.subscribe(), guards.subscribe(), datapath.subscribe());
        tasks.spawn(merge(sources, changes_of_task));
        Self {
            session,
            states,
            socket: socket.to_owned(),
            liveness: VswitchdLiveness::new(Instant::now()),
            status_refresh: StatusRefresh::new(),
            process,
            forwarding,
            guards,
            datapath,
            without_memory: datapath_ports::ByBridge::new(),
            recovered_ends: 0,
            changes,
            _tasks: tasks,
            connection: 0,
            reconnected: None,
        }
    }

    fn read(&mut self, snapshot: &Snapshot) -> Result<EngineState, EngineError> {
        let root = snapshot.cache.open_vswitch().map_err(ReplyError::from)?.ok_or(EmptyDatabase)?;
        let has_progress = self.liveness.update(root.next_cfg, root.cur_cfg, Instant::now());
        if self.has_ended(&root) {
            return Ok(self.stalled(message::VSWITCHD_ENDED, true));
        }
        if !has_progress {
            let waited = STALL_TIMEOUT.as_secs();
            return Ok(self.stalled(&message::no_change_within(waited), false));
        }
        let mut observed = observed_from(&snapshot.cache)?;
        self.forwarding.add_to(&mut observed);
        self.guards.add_to(&mut observed);
        self.datapath.add_to(&mut observed);
        let without_memory = self.datapath.missing();
        if datapath_ports::has_recovered(&self.without_memory, &without_memory) {
            self.status_refresh.on_start();
        }
        self.without_memory = without_memory;
        Ok(EngineState::Up(EngineUp { observed: Arc::new(observed), version: root.ovs_version, warning: None }))
    }

    /// Whether the process ended, and none that was started since has applied the configuration.
    fn has_ended(&mut self, root: &usnet_ovsdb::OpenVswitch) -> bool {
        let process = *self.process.borrow();
        if process.ends == self.recovered_ends {
            return false;
        }
        if root.cur_cfg >= process.required_cfg {
            self.recovered_ends = process.ends;
            self.reconnected = Some(Reconnected { restarted: true, has_ended: true });
            self.status_refresh.on_start();
            return false;
        }
        true
    }

    fn stalled(&self, problem: &str, has_ended: bool) -> EngineState {
        EngineState::Stalled { message: message::vswitchd_stalled(&self.socket, problem), has_ended }
    }

    fn record_connection(&mut self, connection: u64) {
        if self.connection != connection {
            // The database does not say whether it was restarted: each new connection counts as a
            // restart.
            self.reconnected = Some(Reconnected { restarted: self.connection != 0, has_ended: false });
            self.connection = connection;
            let process = *self.process.borrow();
            if process.is_running {
                // The database may be another one, with other numbers.
                self.recovered_ends = process.ends;
            }
        }
    }
}

/// A port without memory does not count: to write its row again the switch ends the connection of
/// its program, and then leaves the row like that of a port without one.
fn has_failed_port(observed: &Observed) -> bool {
    let mut ports = observed.bridges.values().flat_map(|bridge| bridge.ports.values());
    ports.any(|port| port.owner.is_some() && matches!(port.state, ElementState::Failed(_)))
}

/// What an observation is read from.
type Sources = (
    watch::Receiver<State>,
    watch::Receiver<VswitchdProcess>,
    watch::Receiver<forwarding::ByBridge>,
    watch::Receiver<guards::ByBridge>,
    watch::Receiver<datapath_ports::ByBridge>,
);

/// Sends a value for each change of the sources.
async fn merge(
    (mut states, mut process, mut forwarding, mut guards, mut datapath): Sources,
    changes: watch::Sender<()>,
) {
    loop {
        let changed = tokio::select! {
            changed = states.changed() => changed,
            changed = process.changed() => changed,
            changed = forwarding.changed() => changed,
            changed = guards.changed() => changed,
            changed = datapath.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
        changes.send_replace(());
    }
}

impl EngineWatcher for OpenVswitchWatcher {
    const ENGINE: EngineKind = EngineKind::OpenVswitch;
    /// An observation only reads what the session has in memory already.
    const MIN_INTERVAL: Duration = Duration::ZERO;
    type SessionState = ();
    type Driver = OpenVswitch<SwitchChannels>;

    fn socket(&self) -> &Path {
        &self.socket
    }

    fn subscribe(&self) -> watch::Receiver<()> {
        self.changes.clone()
    }

    fn driver(&self) -> OpenVswitch<SwitchChannels> {
        OpenVswitch::new(SwitchChannels::new(self.session.handle(), self.forwarding.clone(), self.guards.clone()))
    }

    async fn observe(&mut self) -> EngineState {
        let state = self.states.borrow().clone();
        match state {
            State::Disconnected { reason } => EngineState::Disconnected {
                message: ErrorChain(&*reason).to_string(),
                is_first_attempt: matches!(*reason, Error::NotYetConnected { .. }),
                // The switch keeps forwarding packets without its database.
                has_ended: false,
            },
            State::Connected(snapshot) => {
                self.record_connection(snapshot.epoch);
                let state =
                    self.read(&snapshot).unwrap_or_else(|error| self.stalled(&ErrorChain(&error).to_string(), false));
                let is_due = match &state {
                    EngineState::Up(up) => self.status_refresh.is_due(has_failed_port(&up.observed), Instant::now()),
                    EngineState::Stalled { .. } | EngineState::Disconnected { .. } => false,
                };
                if is_due {
                    let mut transaction = Transaction::new();
                    let _next_cfg = transaction.bump_next_cfg();
                    // The session notices a database that does not answer.
                    let _ = timeout(REFRESH_TIMEOUT, self.session.transact(&transaction)).await;
                }
                state
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
        self.liveness.next_check().into_iter().chain(self.status_refresh.next()).min()
    }
}
