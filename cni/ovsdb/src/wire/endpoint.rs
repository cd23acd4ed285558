//! The client's end of a connection: it numbers requests, answers echo requests, and classifies
//! messages. No IO.

use super::decoder::Decoder;
use super::error::WireError;
use super::message::Message;
use crate::reply::DatabaseError;
use serde::Serialize;
use serde_json::{Value as Json, json};
use std::fmt::{self, Debug, Formatter};
use usnet_transport::{Outgoing, Protocol};

/// The id of a request, unique on its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(u64);

/// A message of the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Response {
        id: RequestId,
        /// The answer, or the error of the request.
        result: Result<Json, DatabaseError>,
    },
    /// A notification, for example `update3`.
    Notification { method: String, params: Json },
}

#[derive(Default)]
pub struct Endpoint {
    decoder: Decoder,
    outgoing: Outgoing,
    next_id: u64,
}

impl Endpoint {
    /// Queues a request. An error means that the parameters cannot be written as JSON, which those
    /// of this crate always can.
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

    /// Queues a whole message or nothing: a part of one would make later ones unreadable.
    fn send(&mut self, message: &impl Serialize) -> Result<(), WireError> {
        let outgoing = self.outgoing.end();
        let length = outgoing.len();
        serde_json::to_writer(&mut *outgoing, message).map_err(|error| {
            outgoing.truncate(length);
            WireError::Json(error)
        })
    }

    /// Returns the next complete message of the server. Echo requests (RFC 7047 §4.1.11) are
    /// answered here: a server closes the connection of a client that does not answer them.
    ///
    /// After an error the connection has to be closed.
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
                    // An answer with an unknown id is ignored.
                    let Some(id) = id.as_u64().filter(|id| *id < self.next_id).map(RequestId) else { continue };
                    let result = if error.is_null() { Ok(result) } else { Err(DatabaseError::from_rpc(&error)) };
                    return Ok(Some(Event::Response { id, result }));
                }
            }
        }
        Ok(None)
    }
}

impl Protocol for Endpoint {
    fn outgoing(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    fn sent(&mut self, bytes: usize) {
        self.outgoing.sent(bytes);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.decoder.push(bytes);
    }
}

impl Debug for Endpoint {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Endpoint").field("next_id", &self.next_id).finish_non_exhaustive()
    }
}
