//! The client's end of a connection: numbers requests, answers echo, and classifies messages. No
//! IO.

use super::{Decoder, Message, WireError};
use crate::reply::DatabaseError;
use serde::Serialize;
use serde_json::{Value as Json, json};

/// The id of a request on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u64);

/// A message of the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The answer to a request.
    Response {
        /// The request.
        id: RequestId,
        /// The answer, or why there is none.
        result: Result<Json, DatabaseError>,
    },
    /// A notification, for example `update3`.
    Notification {
        /// What it is about.
        method: String,
        /// Its content.
        params: Json,
    },
}

/// The client's end of a connection.
#[derive(Debug, Default)]
pub struct Endpoint {
    decoder: Decoder,
    outgoing: Vec<u8>,
    /// Bytes of `outgoing` that were written.
    sent: usize,
    next_id: u64,
}

impl Endpoint {
    /// Queues a request.
    ///
    /// # Errors
    /// When the parameters cannot be written as JSON, which none of this crate's types does.
    pub fn request(&mut self, method: &str, params: &impl Serialize) -> Result<RequestId, WireError> {
        #[derive(Serialize)]
        struct Request<'request, P> {
            id: u64,
            method: &'request str,
            params: &'request P,
        }
        let id = self.next_id;
        self.next_id += 1;
        self.send(&Request { id, method, params })?;
        Ok(RequestId(id))
    }

    fn send(&mut self, message: &impl Serialize) -> Result<(), WireError> {
        // Moved only if at least half was written, so that each byte is moved once at most.
        if self.sent * 2 >= self.outgoing.len() {
            self.outgoing.drain(..self.sent);
            self.sent = 0;
        }
        serde_json::to_writer(&mut self.outgoing, message).map_err(WireError::Json)
    }

    /// The bytes to write to the socket.
    #[must_use]
    pub fn outgoing(&self) -> &[u8] {
        self.outgoing.get(self.sent..).unwrap_or_default()
    }

    /// Reports that this many bytes of [`Endpoint::outgoing`] were written.
    pub fn sent(&mut self, bytes: usize) {
        self.sent = self.outgoing.len().min(self.sent + bytes);
    }

    /// Adds bytes that were read.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }

    /// The next message of the server, if it is complete. Echo requests are answered here.
    ///
    /// # Errors
    /// The bytes are not OVSDB's JSON-RPC: close the connection.
    pub fn next_event(&mut self) -> Result<Option<Event>, WireError> {
        while let Some(message) = self.decoder.next_message()? {
            match message {
                Message::Request { id, method, params } if method == "echo" => {
                    self.send(&json!({"id": id, "result": params, "error": null}))?;
                }
                Message::Request { id, method, .. } if !id.is_null() => {
                    self.send(&json!({"id": id, "result": null, "error": format!("unknown method {method}")}))?;
                }
                Message::Request { method, params, .. } => return Ok(Some(Event::Notification { method, params })),
                Message::Response { id, result, error } => {
                    // An unknown id: an answer to no request.
                    let Some(id) = id.as_u64().filter(|id| *id < self.next_id).map(RequestId) else { continue };
                    let result = if error.is_null() { Ok(result) } else { Err(DatabaseError::from_rpc(&error)) };
                    return Ok(Some(Event::Response { id, result }));
                }
            }
        }
        Ok(None)
    }
}
