//! A scripted VPP, for faults that a real one does not show on demand.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use tempfile::TempDir;
use usnet_vpp::messages::{
    ControlPing, ControlPingReply, MessageTable, MessageTableEntry, SOCKCLNT_CREATE_ID, SOCKCLNT_CREATE_REPLY_ID,
    ShowVersion, ShowVersionReply, SockclntCreateReply, SockclntDelete, SockclntDeleteReply, WantInterfaceEvents,
    WantInterfaceEventsReply, all,
};
use usnet_vpp::wire::{Envelope, FixedText, FrameDecoder, Header, Reader, read_envelope, write_message};
use usnet_vpp::{Descriptor, Message};

pub(crate) const PID: u32 = 42;
const FIRST_ID: u16 = 100;
const CLIENT: u32 = 0x8000_0001;

/// A folder with a socket in it.
pub(crate) struct Socket {
    folder: TempDir,
}

impl Socket {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("folder") }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("api.sock")
    }

    pub(crate) fn listen(&self) -> UnixListener {
        let _stale = std::fs::remove_file(self.path());
        UnixListener::bind(self.path()).expect("bind")
    }

    /// Runs a script in a thread.
    pub(crate) fn serve(&self, script: impl FnOnce(&UnixListener) + Send + 'static) -> JoinHandle<()> {
        let listener = self.listen();
        std::thread::spawn(move || script(&listener))
    }
}

impl AsRef<Path> for Socket {
    fn as_ref(&self) -> &Path {
        self.folder.path()
    }
}

/// VPP's end of a connection.
pub(crate) struct Peer {
    pub(crate) stream: UnixStream,
    decoder: FrameDecoder,
}

impl Peer {
    pub(crate) fn accept(listener: &UnixListener) -> Self {
        Self { stream: listener.accept().expect("accept").0, decoder: FrameDecoder::default() }
    }

    /// Accepts a client and sends the message table.
    pub(crate) fn greet(listener: &UnixListener) -> Self {
        Self::greet_with(listener, &table())
    }

    pub(crate) fn greet_with(listener: &UnixListener, table: &SockclntCreateReply) -> Self {
        let mut peer = Self::accept(listener);
        assert_eq!(peer.next().expect("a client").0, SOCKCLNT_CREATE_ID);
        peer.send(SOCKCLNT_CREATE_REPLY_ID, 0, table);
        peer
    }

    /// Accepts a client, sends the message table, and answers the first requests of a session.
    pub(crate) fn greet_session(listener: &UnixListener) -> Self {
        let mut peer = Self::greet(listener);
        peer.answer_opening(&WantInterfaceEventsReply::default());
        peer
    }

    /// Answers the requests of a session after the message table.
    pub(crate) fn answer_opening(&mut self, subscribed: &WantInterfaceEventsReply) {
        let ping = self.expect::<ControlPing>();
        self.reply(ping, &ControlPingReply { vpe_pid: PID, ..ControlPingReply::default() });
        let version = self.expect::<ShowVersion>();
        let release = FixedText::new("26.06-scripted").expect("fits");
        self.reply(version, &ShowVersionReply { version: release, ..ShowVersionReply::default() });
        let events = self.expect::<WantInterfaceEvents>();
        self.reply(events, subscribed);
    }

    /// Returns the id and the context of the next message, or `None` when the client has
    /// disconnected.
    pub(crate) fn next(&mut self) -> Option<(u16, u32)> {
        loop {
            if let Some(message) = self.decoder.next_message().expect("frames") {
                let header = if self.is_create(&message) { Header::Context } else { Header::ClientAndContext };
                let (id, envelope) = read_envelope(header, &mut Reader::new(&message)).expect("an envelope");
                return Some((id, envelope.context));
            }
            let mut buffer = [0; 4096];
            let bytes = self.stream.read(&mut buffer).unwrap_or(0);
            if bytes == 0 {
                return None;
            }
            self.decoder.receive(buffer.get(..bytes).expect("read"));
        }
    }

    fn is_create(&self, message: &[u8]) -> bool {
        message.starts_with(&SOCKCLNT_CREATE_ID.to_be_bytes())
    }

    /// Expects that the client shuts down in the way that a real VPP needs.
    pub(crate) fn expect_shutdown(mut self) {
        let context = self.expect::<SockclntDelete>();
        self.reply(context, &SockclntDeleteReply { response: 1 });
    }

    /// Returns the context of the next message, and fails if it is not this one.
    pub(crate) fn expect<M: Message>(&mut self) -> u32 {
        let (found, context) = self.next().expect("a message");
        assert_eq!(found, id::<M>(), "not {}", M::NAME);
        context
    }

    pub(crate) fn reply<M: Message>(&mut self, context: u32, message: &M) {
        self.send(id::<M>(), context, message);
    }

    fn send<M: Message>(&mut self, id: u16, context: u32, message: &M) {
        let mut bytes = Vec::new();
        write_message(&mut bytes, id, Envelope { client_index: CLIENT, context }, message);
        // The client may have closed the connection.
        let _gone = self.stream.write_all(&bytes);
    }
}

/// Returns the message table of a VPP that knows all messages of this crate.
pub(crate) fn table() -> SockclntCreateReply {
    let entry = |(index, descriptor): (u16, &Descriptor)| MessageTableEntry {
        index,
        name: FixedText::new(descriptor.name_crc).expect("at most 63 bytes"),
    };
    let entries = (FIRST_ID..).zip(all()).map(entry).collect();
    SockclntCreateReply { response: 0, index: CLIENT, message_table: MessageTable(entries) }
}

/// Returns the message id in this VPP, which follows from the index in the table.
pub(crate) fn id<M: Message>() -> u16 {
    let position = all().position(|descriptor| descriptor.name_crc == M::NAME_CRC).expect("in the table");
    FIRST_ID + u16::try_from(position).expect("few")
}
