//! A connection of a client.

use crate::simulator::server::table::Table;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use usnet_vpp::Message;
use usnet_vpp::wire::{Envelope, FrameDecoder, write_message};

/// A connection of a client.
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    decoder: FrameDecoder,
    /// What was received and not yet done.
    messages: VecDeque<Vec<u8>>,
    /// What is to be sent.
    out: Vec<u8>,
    /// How much of it was sent.
    sent: usize,
    /// What the client can use, once it said who it is.
    pub(crate) table: Option<Table>,
    /// It is closed when all is done and sent.
    pub(crate) leaves: bool,
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
            leaves: false,
        })
    }

    /// Reads what is there. A client that is gone or sends what is no frame leaves.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) {
        while !self.leaves {
            match self.stream.read(buffer) {
                Ok(0) => self.leaves = true,
                Ok(count) => self.receive(buffer.get(..count).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => self.leaves = true,
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
                    self.leaves = true;
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

    /// Sends what can be sent. False when the connection is at its end.
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
        !self.leaves || self.has_messages()
    }

    pub(crate) fn has_to_write(&self) -> bool {
        !self.out.is_empty()
    }

    /// Adds to what is to be sent.
    pub(crate) fn send<M: Message>(&mut self, id: u16, envelope: Envelope, message: &M) {
        write_message(&mut self.out, id, envelope, message);
    }

    /// What is to be sent; frames are added at its end.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }
}
