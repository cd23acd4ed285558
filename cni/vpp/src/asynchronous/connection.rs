//! One connection of a session, from its first byte to the error that ends it.

use super::state::Published;
use super::waiting::{Request, Waiting};
use super::{Connected, Instance, Options, State};
use crate::endpoint::{Endpoint, Event, Table};
use crate::messages::ControlPing;
use crate::{Batch, Error, shutdown};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};
use usnet_transport::TransferError;
use usnet_transport::asynchronous::Socket;

/// Requests that wait for VPP, of all batches together. With so many of them, further batches wait
/// in the queue: a bound on memory that is far above the largest batch of the agent.
const BACKLOG: usize = 4096;

pub(super) struct Connection<'session> {
    pub(super) options: &'session Options,
    pub(super) socket: Socket,
    pub(super) endpoint: Endpoint,
    pub(super) table: Arc<Table>,
    pub(super) version: String,
    pub(super) instance: Instance,
    /// Interface events.
    pub(super) changes: u64,
    pub(super) last_received: Instant,
    /// Whether the connection works, so that VPP can handle a shutdown.
    pub(super) is_usable: bool,
}

impl Connection<'_> {
    pub(super) const fn instance(&self) -> Instance {
        self.instance
    }

    /// Publishes the connection.
    pub(super) fn publish(&self, epoch: u64, restarted: bool, published: &Published) {
        published.table.send_replace(Arc::clone(&self.table));
        let Self { changes, instance, .. } = *self;
        let connected = Connected { epoch, version: self.version.clone(), changes, instance, restarted };
        published.state.send_replace(State::Connected(connected));
    }

    /// Serves requests and events until the connection fails, and returns why.
    pub(super) async fn run(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        waiting: &mut Waiting,
        state: &watch::Sender<State>,
    ) -> Error {
        // Events may have been received together with the last answer of the opening.
        let mut done = self.handle_events(waiting, state);
        loop {
            if let Err(error) = done {
                self.is_usable = false;
                return error;
            }
            done = self.step(requests, waiting, state).await;
        }
    }

    async fn step(
        &mut self,
        requests: &mut mpsc::Receiver<Request>,
        waiting: &mut Waiting,
        state: &watch::Sender<State>,
    ) -> Result<(), Error> {
        let accepting = self.endpoint.unanswered() < BACKLOG;
        let keepalive_at = waiting.first_deadline().unwrap_or(self.last_received + self.options.probe_after);
        // In this order: received data is handled before the keepalive is checked.
        tokio::select! {
            biased;
            transferred = self.socket.transfer(&mut self.endpoint) => {
                if transferred.map_err(|error| self.error(error))? {
                    self.last_received = Instant::now();
                    self.handle_events(waiting, state)?;
                }
            }
            () = sleep_until(keepalive_at) => self.check_keepalive(waiting)?,
            Some(request) = requests.recv(), if accepting => {
                self.submit(request, waiting);
                // An empty batch is answered without a byte from VPP.
                self.handle_events(waiting, state)?;
            }
        }
        Ok(())
    }

    fn submit(&mut self, request: Request, waiting: &mut Waiting) {
        match self.endpoint.submit(request.content) {
            Ok(batch) => {
                let limit = self.options.timeout + crate::endpoint::timeout_for(self.endpoint.unanswered());
                waiting.add(batch, request.answer, limit);
            }
            Err(unknown) => {
                // The receiver is gone if the caller was cancelled.
                let _receiver_gone = request.answer.send(Err(unknown.into_error(self.path())));
            }
        }
    }

    /// Handles all received messages: the change counter is published before answers are delivered.
    fn handle_events(&mut self, waiting: &mut Waiting, state: &watch::Sender<State>) -> Result<(), Error> {
        let mut all_answers = Vec::new();
        let changes_before = self.changes;
        while let Some(event) = self.next_event()? {
            match event {
                Event::Answered { batch, answers } => all_answers.push((batch, answers)),
                Event::InterfaceChanged => self.changes += 1,
                Event::Ready(_) => {}
            }
        }
        if self.changes != changes_before {
            state.send_modify(|state| {
                if let State::Connected(connected) = state {
                    connected.changes = self.changes;
                }
            });
        }
        for (batch, answers) in all_answers {
            waiting.answer(batch, answers);
        }
        Ok(())
    }

    /// A batch has timed out, or nothing was received for long and VPP has to reply to a control
    /// ping.
    fn check_keepalive(&mut self, waiting: &mut Waiting) -> Result<(), Error> {
        if let Some(limit) = waiting.first_limit() {
            return Err(Error::Timeout { socket: self.path(), request: self.endpoint.pending_request(), limit });
        }
        let mut probe = Batch::new();
        probe.request(ControlPing {});
        let (answer, _receiver_gone) = oneshot::channel();
        self.submit(Request { content: probe, answer }, waiting);
        Ok(())
    }

    pub(super) fn next_event(&mut self) -> Result<Option<Event>, Error> {
        self.endpoint.next_event().map_err(|source| Error::Protocol { socket: self.path(), source })
    }

    pub(super) fn error(&self, error: TransferError) -> Error {
        Error::transfer(self.socket.path(), self.endpoint.pending_request(), error)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.socket.path().to_owned()
    }
}

/// When the session or the runtime is dropped. Blocks for 200 ms at most.
impl Drop for Connection<'_> {
    fn drop(&mut self) {
        if self.is_usable {
            shutdown::close(&mut self.endpoint, &self.socket);
        }
    }
}
