//! A connection of a client.

use crate::simulator::server::table::Table;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use usnet_vpp::Message;
use usnet_vpp::wire::{Envelope, FrameDecoder, write_message};

pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    decoder: FrameDecoder,
    /// Messages that were received and not yet executed.
    messages: VecDeque<Vec<u8>>,
    /// The bytes to send.
    out: Vec<u8>,
    /// How many of `out` were sent.
    sent: usize,
    /// The messages that the client can use, once it has introduced itself.
    pub(crate) table: Option<Table>,
    /// Whether to close the connection once all messages are executed and all answers are sent.
    pub(crate) is_closing: bool,
}

impl Client {
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            decoder: FrameDecoder::default(),
            messages: VecDeque::new(),
            out: Vec::new(),
            sent: 0,
            table: None,
            is_closing: false,
        })
    }

    /// Reads without waiting. The connection is closed after its end of file and after a malformed
    /// frame.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) {
        while !self.is_closing {
            match self.stream.read(buffer) {
                Ok(0) => self.is_closing = true,
                Ok(count) => self.receive(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.is_closing = true,
            }
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.decoder.receive(bytes);
        loop {
            match self.decoder.next_message() {
                Ok(Some(message)) => self.messages.push_back(message),
                Ok(None) => return,
                Err(_) => {
                    self.is_closing = true;
                    return;
                }
            }
        }
    }

    pub(crate) fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        self.messages.pop_front()
    }

    /// Writes without waiting. Returns false if the connection is to be closed.
    pub(crate) fn write(&mut self) -> bool {
        while let Some(rest) = self.out.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
        self.out.clear();
        self.sent = 0;
        !self.is_closing || self.has_messages()
    }

    pub(crate) fn has_to_write(&self) -> bool {
        !self.out.is_empty()
    }

    /// Queues a message.
    pub(crate) fn send<M: Message>(&mut self, id: u16, envelope: Envelope, message: &M) {
        write_message(&mut self.out, id, envelope, message);
    }

    /// Returns the bytes to send, to append frames to.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
}
