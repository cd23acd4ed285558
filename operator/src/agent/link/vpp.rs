//! The connection to VPP's binary API, and what VPP shows when it is asked.

use super::{Arrival, Link, Sight};
use crate::agent::observe::EngineUp;
use crate::error_chain::ErrorChain;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use usnet_crds::Engine;
use usnet_dataplane::engine::{Engine as _, EngineError};
use usnet_dataplane::memif::MemifSocketIds;
use usnet_dataplane::vpp::Vpp;
use usnet_vpp::Error;
use usnet_vpp::asynchronous::{Connected, Handle, Instance, Options, Session, State};

/// VPP tells of interfaces that come, go and connect, but not of bridge domains, tags and MTUs: it is asked in this interval. Its answer takes it 2 us for each
/// bridge domain and 5 us for each port.
const POLL: Duration = Duration::from_secs(2);
/// The longest pause between two tries to connect: pods have no network until a restarted VPP is found. Where there is none, each try costs the agent 0.3 ms.
const RETRY: Duration = Duration::from_millis(250);

/// The connection to VPP.
#[derive(Debug)]
pub(in crate::agent) struct VppLink {
    session: Session,
    states: watch::Receiver<State>,
    socket: PathBuf,
    memif_socket_ids: MemifSocketIds,
    /// The last connection that was used: its number and which run of VPP it met.
    connection: Option<(u64, Instance)>,
    arrival: Option<Arrival>,
    poll_at: Option<Instant>,
}

impl VppLink {
    /// Connects now and for ever. Must be called inside a tokio runtime.
    pub(in crate::agent) fn connect(socket: &Path, memif_socket_ids: MemifSocketIds) -> Self {
        let session = Session::start(Options { retry_max: RETRY, ..Options::new(socket) });
        let states = session.states();
        let socket = socket.to_owned();
        Self { session, states, socket, memif_socket_ids, connection: None, arrival: None, poll_at: None }
    }

    async fn read(&mut self, connected: Connected) -> Sight {
        let now = (connected.epoch, connected.instance);
        if self.connection != Some(now) {
            let is_new_life = self.connection.is_some_and(|(_, instance)| instance != connected.instance);
            self.arrival = Some(Arrival { is_new_life });
            self.connection = Some(now);
        }
        match self.driver().observe().await {
            Ok(observed) => Sight::Up(EngineUp { observed, version: Some(connected.version) }),
            Err(error) => match &*self.states.borrow() {
                // It went while it was asked, and the session knows why.
                State::Disconnected { reason } => disconnected(reason),
                State::Connected(_) => {
                    let (socket, problem) = (self.socket.display(), ErrorChain(&error));
                    Sight::NotActing { message: format!("VPP at {socket} does not tell what it has: {problem}") }
                }
            },
        }
    }
}

fn disconnected(reason: &Error) -> Sight {
    let is_first_try = matches!(reason, Error::NotYetConnected { .. });
    Sight::Disconnected { message: ErrorChain(reason).to_string(), is_first_try }
}

impl Link for VppLink {
    const ENGINE: Engine = Engine::Vpp;
    /// VPP's main thread answers, and on a small VPP forwards packets as well: programs that connect all at once must not make it answer all the time.
    const PAUSE: Duration = Duration::from_millis(100);
    type State = State;
    type Driver = Vpp<Handle>;

    fn socket(&self) -> &Path {
        &self.socket
    }

    fn states(&self) -> watch::Receiver<State> {
        self.session.states()
    }

    fn driver(&self) -> Vpp<Handle> {
        Vpp::new(self.session.handle(), self.memif_socket_ids)
    }

    async fn look(&mut self) -> Sight {
        let state = self.states.borrow().clone();
        let sight = match state {
            State::Connected(connected) => self.read(connected).await,
            State::Disconnected { reason } => disconnected(&reason),
        };
        self.poll_at = Some(Instant::now() + POLL);
        sight
    }

    fn take_arrival(&mut self) -> Option<Arrival> {
        self.arrival.take()
    }

    fn gave_up(&mut self, _error: &EngineError) {}

    fn look_again(&self) -> Option<Instant> {
        self.poll_at
    }
}
