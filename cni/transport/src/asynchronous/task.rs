//! The task of a session: serves one connection after the other.

use super::backoff::Backoff;
use super::connection::{Connection, Failure, Received, Settings};
use super::request::{Request, SessionState};
use super::socket::Socket;
use super::state::State;
use super::waiting::Waiting;
use crate::TransferError;
use std::os::fd::AsFd;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

/// The data that the task of a session owns.
pub(super) struct Server<C: Connection> {
    pub(super) context: C::Context,
    pub(super) settings: Settings,
    pub(super) requests: mpsc::Receiver<Request<C>>,
    pub(super) state: watch::Sender<SessionState<C>>,
    /// The reason why there is no connection, or was none before the current one.
    pub(super) reason: Arc<C::Error>,
}

impl<C: Connection> Server<C> {
    /// Serves connections until the task is aborted, or all callers are gone.
    pub(super) async fn run(mut self) {
        let mut backoff = Backoff::new(self.settings.retry_min, self.settings.retry_max);
        let mut epoch = 1;
        loop {
            let mut waiting = Waiting::new();
            let Some(error) = self.connect_and_serve(epoch, &mut waiting).await else { return };
            self.reason = Arc::new(error);
            let last = self.state.send_replace(State::Disconnected { reason: Arc::clone(&self.reason) });
            if let State::Connected(last) = last {
                epoch += 1;
                C::disconnected(&mut self.context, &last);
            }
            waiting.fail(|| C::error(&self.settings.socket, Failure::AnswerLost(Arc::clone(&self.reason))));
            if !backoff.wait(self.refuse_requests()).await {
                return;
            }
        }
    }

    /// Connects, and serves the connection until it fails. Returns the error, or nothing if all
    /// callers are gone.
    async fn connect_and_serve(&mut self, epoch: u64, waiting: &mut Waiting<C>) -> Option<C::Error> {
        let connection = match C::begin(&mut self.context, epoch) {
            Ok(connection) => connection,
            Err(error) => return Some(error),
        };
        let path = self.settings.socket.clone();
        let socket = tokio::select! {
            socket = Socket::connect(&path, self.settings.connect_timeout) => socket,
            () = self.refuse_requests(), if C::REFUSES_WHILE_OPENING => return None,
        };
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => return Some(C::error(&path, Failure::Connect(error))),
        };
        let mut served = Served { socket, connection, last_received: Instant::now(), is_closed: false };
        loop {
            if let Err(error) = self.step(&mut served, waiting).await {
                served.close(Some(&error));
                return Some(error);
            }
        }
    }

    /// Answers requests with an error, so that they fail at once and are not queued. Returns once
    /// all callers are gone.
    async fn refuse_requests(&mut self) {
        while let Some(request) = self.requests.recv().await {
            self.refuse(request);
        }
    }

    fn refuse(&self, request: Request<C>) {
        let error = C::error(&self.settings.socket, Failure::NotSent(Arc::clone(&self.reason)));
        let _receiver_gone = request.answer.send(Err(error));
    }

    async fn step(&mut self, served: &mut Served<C>, waiting: &mut Waiting<C>) -> Result<(), C::Error> {
        let Served { socket, connection, last_received, .. } = served;
        let is_open = connection.is_open();
        let takes_requests = if is_open { waiting.has_room(connection) } else { C::REFUSES_WHILE_OPENING };
        let wake_at = waiting.first_deadline().unwrap_or_else(|| connection.probe_at(*last_received));
        // In this order: received data is handled before a deadline is checked.
        tokio::select! {
            biased;
            transferred = socket.transfer(connection.endpoint()) => {
                if transferred.map_err(|error| served.error(error))? {
                    served.last_received = Instant::now();
                    self.handle_received(&mut served.connection, waiting)?;
                }
            }
            () = sleep_until(wake_at) => served.check_deadline(waiting)?,
            Some(request) = self.requests.recv(), if takes_requests => {
                if is_open {
                    self.submit(request, &mut served.connection, waiting)?;
                } else {
                    self.refuse(request);
                }
            }
        }
        Ok(())
    }

    fn submit(&mut self, request: Request<C>, connection: &mut C, waiting: &mut Waiting<C>) -> Result<(), C::Error> {
        match connection.submit(request.content) {
            Ok(submitted) => waiting.add(submitted, request.answer),
            Err(error) => {
                let _receiver_gone = request.answer.send(Err(error));
            }
        }
        // A request may be answered without a byte from the server.
        self.handle_received(connection, waiting)
    }

    /// Publishes what has changed before callers get their answers.
    fn handle_received(&mut self, connection: &mut C, waiting: &mut Waiting<C>) -> Result<(), C::Error> {
        let Received { answers, changed } = connection.handle_received()?;
        if changed && connection.is_open() {
            self.state.send_replace(State::Connected(connection.connected()));
        }
        answers.into_iter().for_each(|(id, answer)| waiting.answer(id, answer));
        Ok(())
    }
}

/// A connection with its socket.
struct Served<C: Connection> {
    socket: Socket,
    connection: C,
    last_received: Instant,
    is_closed: bool,
}

impl<C: Connection> Served<C> {
    /// Ends the connection if a request is overdue, and otherwise probes a silent server.
    fn check_deadline(&mut self, waiting: &mut Waiting<C>) -> Result<(), C::Error> {
        if let Some(limit) = waiting.first_limit() {
            return Err(self.error(TransferError::Timeout { limit }));
        }
        if let Some(probe) = self.connection.probe(self.last_received)? {
            let (no_caller, _) = oneshot::channel();
            waiting.add(probe, no_caller);
        }
        Ok(())
    }

    fn error(&self, error: TransferError) -> C::Error {
        C::error(self.socket.path(), Failure::Transfer { request: self.connection.pending_request(), error })
    }

    fn close(&mut self, reason: Option<&C::Error>) {
        if !self.is_closed {
            self.is_closed = true;
            self.connection.close(self.socket.as_fd(), reason);
        }
    }
}

/// The task was aborted, or its runtime ends: nothing can be awaited.
impl<C: Connection> Drop for Served<C> {
    fn drop(&mut self) {
        self.close(None);
    }
}
