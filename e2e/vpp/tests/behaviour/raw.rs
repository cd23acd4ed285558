//! A connection without a client, which would restrict messages and their order.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;
use usnet_test_vpp::Vpp;
use usnet_vpp::Message;
use usnet_vpp::messages::{SOCKCLNT_CREATE_ID, SOCKCLNT_CREATE_REPLY_ID, SockclntCreate, SockclntCreateReply};
use usnet_vpp::wire::{Envelope, FrameDecoder, Reader, read_envelope, write_frame, write_message};

/// A limit that is never reached if there is an answer.
const AMPLE: Duration = Duration::from_secs(30);

/// The client's end of a connection.
pub(crate) struct Raw {
    stream: UnixStream,
    decoder: FrameDecoder,
    /// The key is name and CRC.
    pub(crate) ids: HashMap<String, u16>,
    pub(crate) index: u32,
}

impl Raw {
    pub(crate) fn connect(vpp: &Vpp) -> Self {
        let stream = UnixStream::connect(vpp.socket()).expect("connect");
        stream.set_read_timeout(Some(AMPLE)).expect("set");
        let ids = HashMap::from([(SockclntCreateReply::NAME_CRC.to_owned(), SOCKCLNT_CREATE_REPLY_ID)]);
        let mut raw = Self { stream, decoder: FrameDecoder::default(), ids, index: 0 };
        let mut bytes = Vec::new();
        write_message(&mut bytes, SOCKCLNT_CREATE_ID, raw.envelope(9), &SockclntCreate::default());
        raw.write(&bytes);
        let (envelope, reply) = raw.expect::<SockclntCreateReply>();
        assert_eq!((envelope.context, reply.response), (9, 0));
        raw.ids = reply.message_table.0.into_iter().map(|entry| (entry.name.into_string(), entry.index)).collect();
        raw.index = reply.index;
        raw
    }

    pub(crate) fn envelope(&self, context: u32) -> Envelope {
        Envelope { client_index: self.index, context }
    }

    pub(crate) fn id<M: Message>(&self) -> u16 {
        *self.ids.get(M::NAME_CRC).expect("VPP knows it")
    }

    pub(crate) fn send<M: Message>(&mut self, context: u32, message: &M) {
        self.send_as(self.envelope(context), message);
    }

    pub(crate) fn send_as<M: Message>(&mut self, envelope: Envelope, message: &M) {
        let mut bytes = Vec::new();
        write_message(&mut bytes, self.id::<M>(), envelope, message);
        self.write(&bytes);
    }

    /// Sends a message whose fields are these bytes.
    pub(crate) fn send_fields<M: Message>(&mut self, context: u32, fields: &[u8]) {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, self.id::<M>(), M::HEADER, self.envelope(context), fields);
        self.write(&bytes);
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("write");
    }

    /// Returns the next message, and fails if it is not this one.
    pub(crate) fn expect<M: Message>(&mut self) -> (Envelope, M) {
        let message = self.next().expect("a message before the end");
        let mut reader = Reader::new(&message);
        let (id, envelope) = read_envelope(M::HEADER, &mut reader).expect("an envelope");
        assert_eq!(Some(&id), self.ids.get(M::NAME_CRC), "not {}", M::NAME);
        (envelope, M::decode(&mut reader).expect("the fields"))
    }

    /// Returns the next message, or nothing when VPP closes the connection.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(message) = self.decoder.next_message().expect("frames") {
                return Some(message);
            }
            let count = self.stream.read(&mut buffer).expect("read");
            self.decoder.receive(buffer.get(..count).filter(|read| !read.is_empty())?);
        }
    }
}
