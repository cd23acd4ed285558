//! Decoding of a stream of bytes into messages. Messages have no delimiter, so that the end of one
//! is found by counting braces outside of strings. Each byte is scanned once, however the stream is
//! split into reads.

use super::error::{MESSAGE_MAX, WireError};
use super::message::Message;

/// The position of the next byte in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Between two messages.
    Between,
    /// In a message, outside of strings.
    Structure,
    String,
    /// In a string, after a backslash.
    Escape,
}

/// Decodes messages: pass bytes to [`Decoder::push`], then read messages until there is none.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// The number of bytes in the buffer that belong to returned messages.
    taken: usize,
    /// The number of bytes in the buffer that were scanned.
    scanned: usize,
    position: Position,
    open_braces: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { buffer: Vec::new(), taken: 0, scanned: 0, position: Position::Between, open_braces: 0 }
    }
}

impl Decoder {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        // Moving the rest costs little: there is at most one incomplete message per read, and the
        // rest is moved only after a complete one.
        if self.taken > 0 {
            self.buffer.drain(..self.taken);
            self.scanned -= self.taken;
            self.taken = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete message, if there is one. After an error the stream cannot be
    /// used.
    pub fn next_message(&mut self) -> Result<Option<Message>, WireError> {
        self.next_bytes()?.map(Message::parse).transpose()
    }

    /// Returns the bytes of the next complete message, if there is one.
    pub(crate) fn next_bytes(&mut self) -> Result<Option<&[u8]>, WireError> {
        while let Some(&byte) = self.buffer.get(self.scanned) {
            self.scanned += 1;
            if self.step(byte)? {
                let start = std::mem::replace(&mut self.taken, self.scanned);
                return Ok(self.buffer.get(start..self.scanned));
            }
        }
        if self.buffer.len() - self.taken > MESSAGE_MAX { Err(WireError::TooLong) } else { Ok(None) }
    }

    /// Scans one byte. Returns whether a message ends with it.
    fn step(&mut self, byte: u8) -> Result<bool, WireError> {
        match (self.position, byte) {
            (Position::Between, b' ' | b'\t' | b'\r' | b'\n') => self.taken = self.scanned,
            (Position::Between, b'{') => {
                self.position = Position::Structure;
                self.open_braces = 1;
            }
            (Position::Between, byte) => return Err(WireError::NotAnObject { byte }),
            (Position::Structure, b'{') => self.open_braces += 1,
            (Position::Structure, b'}') => {
                self.open_braces -= 1;
                if self.open_braces == 0 {
                    self.position = Position::Between;
                    return Ok(true);
                }
            }
            (Position::Structure, b'"') => self.position = Position::String,
            (Position::String, b'"') => self.position = Position::Structure,
            (Position::String, b'\\') => self.position = Position::Escape,
            (Position::Escape, _) => self.position = Position::String,
            (Position::Structure | Position::String, _) => {}
        }
        Ok(false)
    }
}
