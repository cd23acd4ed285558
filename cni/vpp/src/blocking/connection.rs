//! A connection of the blocking client.

use crate::endpoint::{Endpoint, Event, Table, Unknown};
use crate::{Answers, Batch, Error, shutdown};
use std::fmt::{self, Debug, Formatter};
use std::path::Path;
use std::sync::Arc;
use usnet_transport::blocking::{Deadline, Socket};

/// VPP's message table, which is the first message and has 91 kB, is read in three parts.
const READ_SIZE: usize = 32 << 10;

pub(super) struct Connection {
    socket: Socket,
    endpoint: Endpoint,
}

impl Connection {
    /// Connects and reads the message table.
    pub(super) fn open(path: &Path, deadline: &Deadline) -> Result<(Self, Arc<Table>), Error> {
        let refused = |source| Error::Connect { socket: path.to_owned(), source };
        let socket = Socket::connect(path, READ_SIZE, deadline).map_err(refused)?;
        let mut connection = Self { socket, endpoint: Endpoint::new() };
        loop {
            if let Event::Ready(table) = connection.next_event(deadline)? {
                return Ok((connection, table));
            }
        }
    }

    /// Sends a batch and waits for its answers.
    pub(super) fn exchange(&mut self, batch: &Batch, deadline: &Deadline) -> Result<Answers, Error> {
        let unknown = |unknown: Unknown| unknown.into_error(self.socket.path().to_owned());
        let submitted = self.endpoint.submit(batch.clone()).map_err(unknown)?;
        loop {
            match self.next_event(deadline)? {
                Event::Answered { batch, answers } if batch == submitted => return Ok(answers),
                Event::Answered { .. } | Event::Ready(_) | Event::InterfaceChanged => {}
            }
        }
    }

    /// Ends the connection in the way that VPP needs.
    pub(super) fn close(mut self) {
        shutdown::close(&mut self.endpoint, &self.socket);
    }

    fn next_event(&mut self, deadline: &Deadline) -> Result<Event, Error> {
        let path = self.socket.path().to_owned();
        loop {
            let event = self.endpoint.next_event();
            if let Some(event) = event.map_err(|source| Error::Protocol { socket: path.clone(), source })? {
                return Ok(event);
            }
            let transferred = self.socket.transfer(&mut self.endpoint, deadline);
            transferred.map_err(|error| Error::transfer(&path, self.endpoint.pending_request(), error))?;
        }
    }
}

/// Leaves the endpoint out, because a request in it may contain a secret.
impl Debug for Connection {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Connection").field("socket", &self.socket).finish_non_exhaustive()
    }
}
