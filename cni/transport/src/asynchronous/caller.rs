//! The callers of a session and its task.

use super::connection::{Connection, Failure, Settings};
use super::request::{Request, SessionState};
use super::state::State;
use super::task::Server;
use std::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;

/// The most requests that wait for the task; others wait in their callers. They keep a server busy
/// while the task handles received data, and their memory is small.
const QUEUE: usize = 64;

/// Starts a session on the current tokio runtime (of either kind). It connects at once, and retries
/// indefinitely.
pub fn start<C: Connection>(context: C::Context, settings: Settings) -> (Caller<C>, Task) {
    let socket: Arc<Path> = settings.socket.as_path().into();
    let reason = Arc::new(C::error(&socket, Failure::NotYetConnected));
    let (sender, requests) = mpsc::channel(QUEUE);
    let (publisher, state) = watch::channel(State::Disconnected { reason: Arc::clone(&reason) });
    let server = Server::<C> { context, settings, requests, state: publisher, reason };
    (Caller { socket, requests: sender, state }, Task(tokio::spawn(server.run())))
}

/// The callers' end of a session. It can be cloned. Dropping the session's [`Task`] ends the
/// session although callers exist.
pub struct Caller<C: Connection> {
    socket: Arc<Path>,
    requests: mpsc::Sender<Request<C>>,
    state: watch::Receiver<SessionState<C>>,
}

impl<C: Connection> Caller<C> {
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    #[must_use]
    pub fn state(&self) -> watch::Receiver<State<C::Connected, Arc<C::Error>>> {
        self.state.clone()
    }

    /// Waits indefinitely until there is a connection.
    pub async fn connected(&self) -> Result<C::Connected, C::Error> {
        let mut state = self.state();
        let found = state.wait_for(|state| state.connected().is_some()).await.map_err(|_| self.ended())?;
        found.connected().cloned().ok_or_else(|| self.ended())
    }

    /// Sends a request to the task and waits for the answer.
    pub async fn call(&self, content: C::Request) -> Result<C::Answer, C::Error> {
        let (answer, receiver) = oneshot::channel();
        self.requests.send(Request { content, answer }).await.map_err(|_| self.ended())?;
        receiver.await.map_err(|_| self.ended())?
    }

    fn ended(&self) -> C::Error {
        C::error(&self.socket, Failure::SessionEnded)
    }
}

// A derived implementation would require connections that can be cloned.
impl<C: Connection> Clone for Caller<C> {
    fn clone(&self) -> Self {
        Self { socket: Arc::clone(&self.socket), requests: self.requests.clone(), state: self.state.clone() }
    }
}

impl<C: Connection> Debug for Caller<C> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Caller").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// The task of a session. Dropping it ends the session.
#[derive(Debug)]
#[must_use = "the session ends when it is dropped"]
pub struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
