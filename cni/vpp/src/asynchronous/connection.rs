//! VPP's binary API on one connection of a session.

use super::opening::{Opening, Requests};
use super::{Connected, Instance, Options, SocketFile};
use crate::endpoint::{BatchId, Endpoint, Event, Table};
use crate::messages::ControlPing;
use crate::{Answers, Batch, Error, shutdown};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::Instant;
use usnet_transport::asynchronous::{Failure, Received, Submitted};

/// The most requests in flight, of all batches together. Further batches wait in the queue. This
/// bounds the memory, and is far above the largest batch of the agent.
const BACKLOG: usize = 4096;

/// Data that lives as long as the session.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) options: Arc<Options>,
    /// Publishes the messages that VPP knew when it was last connected.
    pub(super) table: watch::Sender<Arc<Table>>,
    pub(super) last_instance: Option<Instance>,
}

pub(super) struct Connection {
    context: Context,
    endpoint: Endpoint,
    opening: Opening,
    opening_deadline: Instant,
    /// The description of VPP, which is complete once the handshake is.
    connected: Connected,
}

impl Connection {
    fn next_event(&mut self) -> Result<Option<Event>, Error> {
        self.endpoint.next_event().map_err(|source| Error::Protocol { socket: self.path(), source })
    }

    fn complete_opening(&mut self, requests: Requests, answers: &Answers) -> Result<(), Error> {
        let table = requests.complete(answers, &self.context.options.socket, &mut self.connected)?;
        self.connected.restarted = self.context.last_instance.is_some_and(|last| last != self.connected.instance);
        self.context.table.send_replace(table);
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.context.options.socket.clone()
    }
}

impl usnet_transport::asynchronous::Connection for Connection {
    type Endpoint = Endpoint;
    type Context = Context;
    type Request = Batch;
    type RequestId = BatchId;
    type Answer = Answers;
    type Connected = Connected;
    type Error = Error;

    const REFUSES_WHILE_OPENING: bool = true;

    fn begin(context: &mut Context, epoch: u64) -> Result<Self, Error> {
        let Options { socket, timeout, .. } = &*context.options;
        let connect_error = |source| Error::Connect { socket: socket.clone(), source };
        let instance = Instance { pid: 0, socket: SocketFile::at(socket).map_err(connect_error)? };
        Ok(Self {
            context: context.clone(),
            endpoint: Endpoint::new(),
            opening: Opening::Table,
            opening_deadline: Instant::now() + *timeout,
            connected: Connected { epoch, version: String::new(), changes: 0, instance, restarted: false },
        })
    }

    fn endpoint(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }

    fn is_open(&self) -> bool {
        matches!(self.opening, Opening::Done)
    }

    fn connected(&self) -> Connected {
        self.connected.clone()
    }

    fn has_room(&self, _in_flight: usize) -> bool {
        self.endpoint.unanswered() < BACKLOG
    }

    fn submit(&mut self, batch: Batch) -> Result<Submitted<BatchId>, Error> {
        let id = self.endpoint.submit(batch).map_err(|unknown| unknown.into_error(self.path()))?;
        let limit = self.context.options.timeout + crate::endpoint::timeout_for(self.endpoint.unanswered());
        Ok(Submitted { id, limit: Some(limit) })
    }

    fn handle_received(&mut self) -> Result<Received<Self>, Error> {
        let mut received = Received { answers: Vec::new(), changed: false };
        while let Some(event) = self.next_event()? {
            match event {
                Event::Ready(table) => {
                    let socket = &self.context.options.socket;
                    self.opening = Opening::identify_and_subscribe(&mut self.endpoint, socket, table)?;
                }
                Event::Answered { batch, answers } => match self.opening.take_requests(batch) {
                    Some(requests) => {
                        self.complete_opening(requests, &answers)?;
                        received.changed = true;
                    }
                    None => received.answers.push((batch, answers)),
                },
                Event::InterfaceChanged => {
                    self.connected.changes += 1;
                    received.changed = true;
                }
            }
        }
        Ok(received)
    }

    fn probe_at(&self, last_received: Instant) -> Instant {
        if self.is_open() { last_received + self.context.options.probe_after } else { self.opening_deadline }
    }

    fn probe(&mut self, _last_received: Instant) -> Result<Option<Submitted<BatchId>>, Error> {
        if !self.is_open() {
            let limit = self.context.options.timeout;
            return Err(Error::Timeout { socket: self.path(), request: self.endpoint.pending_request(), limit });
        }
        let mut ping = Batch::new();
        ping.request(ControlPing {});
        self.submit(ping).map(Some)
    }

    fn pending_request(&self) -> &'static str {
        self.endpoint.pending_request()
    }

    fn close(&mut self, socket: BorrowedFd<'_>, reason: Option<&Error>) {
        // After other errors VPP would not understand the last request, or not answer it.
        if matches!(reason, None | Some(Error::Unsupported { .. } | Error::Refused { .. } | Error::Replaced { .. })) {
            shutdown::close(&mut self.endpoint, &socket);
        }
    }

    fn disconnected(context: &mut Context, last: &Connected) {
        context.last_instance = Some(last.instance);
    }

    fn error(path: &Path, failure: Failure<Error>) -> Error {
        let socket = path.to_owned();
        match failure {
            Failure::NotYetConnected => Error::NotYetConnected { socket },
            Failure::Connect(source) => Error::Connect { socket, source },
            Failure::Transfer { request, error } => Error::transfer(path, request, error),
            Failure::NotSent(source) => Error::NotSent { socket, source },
            Failure::AnswerLost(source) => Error::AnswerLost { socket, source },
            Failure::SessionEnded => Error::SessionEnded { socket },
        }
    }
}
