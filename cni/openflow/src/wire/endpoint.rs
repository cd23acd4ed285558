//! The client's end of a connection.

use super::{Malformed, Message};
use std::fmt;
use usnet_transport::{Outgoing, Protocol};

/// Bytes that are to be sent, and received ones that are not yet a message.
#[derive(Default)]
pub struct Endpoint {
    outgoing: Outgoing,
    incoming: Vec<u8>,
    /// The number of `incoming` bytes that were returned as messages.
    returned: usize,
}

impl Endpoint {
    pub fn send(&mut self, version: u8, kind: u8, id: u32, body: &[u8]) {
        Message::encode(version, kind, id, body, self.outgoing.end());
    }

    /// Returns the next message, once all of it is received.
    pub fn next_message(&mut self) -> Result<Option<Message>, Malformed> {
        let Some((message, length)) = Message::decode(self.incoming.get(self.returned..).unwrap_or_default())? else {
            self.incoming.drain(..self.returned);
            self.returned = 0;
            return Ok(None);
        };
        self.returned += length;
        Ok(Some(message))
    }
}

/// Leaves the bytes out, which may be many.
impl fmt::Debug for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Endpoint").finish_non_exhaustive()
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
        self.incoming.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_in_pieces_and_together() {
        let mut bytes = Vec::new();
        for id in 0..50 {
            Message::encode(5, 3, id, &vec![7; usize::try_from(id).unwrap()], &mut bytes);
        }
        for piece in [1, 9, 64, bytes.len()] {
            let mut endpoint = Endpoint::default();
            let mut ids = Vec::new();
            for bytes in bytes.chunks(piece) {
                endpoint.receive(bytes);
                while let Some(message) = endpoint.next_message().unwrap() {
                    assert_eq!((message.body.len(), message.version, message.kind), (ids.len(), 5, 3));
                    ids.push(message.id);
                }
            }
            assert_eq!(ids, (0..50).collect::<Vec<_>>(), "pieces of {piece}");
            assert!(endpoint.incoming.is_empty());
        }
    }

    #[test]
    fn a_message_shorter_than_its_header_is_an_error() {
        let mut endpoint = Endpoint::default();
        endpoint.receive(&[1, 0, 0, 7, 0, 0, 0, 0]);
        assert_eq!(endpoint.next_message(), Err(Malformed::Length("a message")));
    }
}
