//! A connection of the blocking client.

use crate::Error;
use crate::transact::Answer;
use crate::wire::{Endpoint, Event};
use serde::Serialize;
use std::path::Path;
use usnet_transport::blocking::{Deadline, Socket};

/// Answers about one port have less.
const READ_SIZE: usize = 4 << 10;

#[derive(Debug)]
pub(super) struct Connection {
    socket: Socket,
    endpoint: Endpoint,
}

impl Connection {
    pub(super) fn open(path: &Path, deadline: &Deadline) -> Result<Self, Error> {
        let refused = |source| Error::Connect { socket: path.to_owned(), source };
        Ok(Self { socket: Socket::connect(path, READ_SIZE, deadline).map_err(refused)?, endpoint: Endpoint::default() })
    }

    /// Sends a request and waits for its answer.
    pub(super) fn call(
        &mut self,
        method: &'static str,
        params: &impl Serialize,
        deadline: &Deadline,
    ) -> Result<Answer, Error> {
        let path = self.socket.path().to_owned();
        let wire = |source| Error::Wire { socket: path.clone(), source };
        let request = self.endpoint.request(method, params).map_err(wire)?;
        loop {
            while let Some(event) = self.endpoint.next_event().map_err(wire)? {
                match event {
                    Event::Response { id, result } if id == request => return Ok(result),
                    Event::Response { .. } | Event::Notification { .. } => {}
                }
            }
            let transferred = self.socket.transfer(&mut self.endpoint, deadline);
            transferred.map_err(|error| Error::transfer(&path, method, error))?;
        }
    }
}
