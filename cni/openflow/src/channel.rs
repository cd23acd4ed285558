//! A connection to the management socket of a bridge, in any version (IO). All requests together
//! have one deadline.

use crate::OpenFlowError;
use crate::wire::{ECHO_REPLY, ECHO_REQUEST, ERROR, Endpoint, HELLO, Malformed, Message, Refusal};
use std::path::Path;
use std::time::Duration;
use usnet_transport::TransferError;
use usnet_transport::blocking::{Deadline, Socket};

/// The most messages that are read for one reply: others may be received in between, and long
/// replies have several parts of up to 64 KiB.
const MESSAGES_MAX: usize = 1024;

const READ_SIZE: usize = 16 << 10;

#[derive(Debug)]
pub(crate) struct Channel {
    socket: Socket,
    endpoint: Endpoint,
    deadline: Deadline,
    version: u8,
    /// Whether the switch offers the version, by its hello message; `None` once that is read.
    offers: Option<Offers>,
    /// The transaction id of the last request.
    id: u32,
}

/// Whether a hello message offers the version of a connection.
type Offers = fn(&Message) -> Result<bool, Malformed>;

impl Channel {
    /// Connects. The hello message goes with the first request, and the switch's is read before the
    /// first reply: to wait for it would be a round trip of its own.
    pub(crate) fn open(
        path: &Path,
        timeout: Duration,
        version: u8,
        (hello, offers): (&[u8], Offers),
    ) -> Result<Self, OpenFlowError> {
        let deadline = Deadline::after(timeout);
        let failed = |source| OpenFlowError::Connect { socket: path.to_owned(), source };
        let socket = Socket::connect(path, READ_SIZE, &deadline).map_err(failed)?;
        let mut endpoint = Endpoint::default();
        endpoint.send(version, HELLO, 0, hello);
        Ok(Self { socket, endpoint, deadline, version, offers: Some(offers), id: 0 })
    }

    /// Starts the time for further requests.
    pub(crate) fn set_deadline(&mut self, timeout: Duration) {
        self.deadline = Deadline::after(timeout);
    }

    /// Adds a request to those that are sent with the next wait; returns its transaction id.
    pub(crate) fn request(&mut self, kind: u8, body: &[u8]) -> u32 {
        let id = self.next_id();
        self.endpoint.send(self.version, kind, id, body);
        id
    }

    /// The transaction id of the next request.
    pub(crate) const fn next_id(&mut self) -> u32 {
        self.id = self.id.wrapping_add(1);
        self.id
    }

    /// Adds a request with an id of [`Self::next_id`], which its content repeats.
    pub(crate) fn request_as(&mut self, id: u32, kind: u8, body: &[u8]) {
        self.endpoint.send(self.version, kind, id, body);
    }

    /// Reads until a message of this type that replies to the request `id`. Any error message is
    /// about a request of this connection, each of which is waited for.
    pub(crate) fn reply(&mut self, kind: u8, id: u32) -> Result<Vec<u8>, OpenFlowError> {
        match self.reply_or_refusal(kind, id)? {
            Ok(body) => Ok(body),
            Err((_, refusal)) => Err(self.refused(refusal)),
        }
    }

    /// Works like [`Self::reply`], but returns an error message with the id of what was refused.
    pub(crate) fn reply_or_refusal(
        &mut self,
        kind: u8,
        id: u32,
    ) -> Result<Result<Vec<u8>, (u32, Refusal)>, OpenFlowError> {
        for _ in 0..MESSAGES_MAX {
            let message = self.next_message()?;
            if message.version != self.version {
                return Err(self.malformed(Malformed::Version(message.version)));
            }
            match message.kind {
                ERROR => {
                    let refusal = Refusal::decode(&message.body).map_err(|error| self.malformed(error))?;
                    return Ok(Err((message.id, refusal)));
                }
                found if found == kind && message.id == id => return Ok(Ok(message.body)),
                _ => {}
            }
        }
        Err(self.malformed(Malformed::TooMany(MESSAGES_MAX)))
    }

    /// Requests what is answered in several parts, and reads each of them. `part` returns whether
    /// more follow.
    pub(crate) fn request_parts(
        &mut self,
        (kind, reply): (u8, u8),
        request: &[u8],
        part: impl FnMut(&[u8]) -> Result<bool, Malformed>,
    ) -> Result<(), OpenFlowError> {
        let id = self.request(kind, request);
        self.parts(reply, id, part)
    }

    /// Reads each part of the reply to the request `id`. `part` returns whether more follow.
    pub(crate) fn parts(
        &mut self,
        kind: u8,
        id: u32,
        mut part: impl FnMut(&[u8]) -> Result<bool, Malformed>,
    ) -> Result<(), OpenFlowError> {
        for _ in 0..MESSAGES_MAX {
            let body = self.reply(kind, id)?;
            if !part(&body).map_err(|error| self.malformed(error))? {
                return Ok(());
            }
        }
        Err(self.malformed(Malformed::TooMany(MESSAGES_MAX)))
    }

    /// Answers the switch, which ends connections that are silent, until the deadline.
    pub(crate) fn answer_until_deadline(&mut self) -> Result<(), OpenFlowError> {
        loop {
            match self.next_message() {
                Ok(_) => {}
                Err(error) if error.is_timeout() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the next message after the hello other than an echo request, which is answered.
    fn next_message(&mut self) -> Result<Message, OpenFlowError> {
        if let Some(offers) = self.offers {
            // It has its own transaction id, and may offer later versions as well.
            let hello = self.received()?;
            if hello.kind != HELLO {
                return Err(self.malformed(Malformed::Value("a hello")));
            }
            if !offers(&hello).map_err(|error| self.malformed(error))? {
                return Err(OpenFlowError::Version(self.socket.path().to_owned()));
            }
            self.offers = None;
        }
        self.received()
    }

    /// Returns the next message other than an echo request, which is answered.
    fn received(&mut self) -> Result<Message, OpenFlowError> {
        loop {
            while let Some(message) = self.endpoint.next_message().map_err(|error| self.malformed(error))? {
                if message.kind != ECHO_REQUEST {
                    return Ok(message);
                }
                self.endpoint.send(self.version, ECHO_REPLY, message.id, &message.body);
            }
            self.socket.transfer(&mut self.endpoint, &self.deadline).map_err(|source| self.failed(source))?;
        }
    }

    fn failed(&self, source: TransferError) -> OpenFlowError {
        OpenFlowError::Transfer { socket: self.socket.path().to_owned(), source }
    }

    pub(crate) fn malformed(&self, source: Malformed) -> OpenFlowError {
        OpenFlowError::Protocol { socket: self.socket.path().to_owned(), source }
    }

    pub(crate) fn refused(&self, Refusal { kind, code }: Refusal) -> OpenFlowError {
        OpenFlowError::Refused { socket: self.socket.path().to_owned(), kind, code }
    }

    pub(crate) fn change_refused(&self, position: usize, Refusal { kind, code }: Refusal) -> OpenFlowError {
        OpenFlowError::ChangeRefused { socket: self.socket.path().to_owned(), position, kind, code }
    }
}
