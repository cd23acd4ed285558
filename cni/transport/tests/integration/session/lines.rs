//! A protocol of lines for the tests of sessions, and a scripted server of it.
//!
//! The client sends `hello` and then requests; the server sends `welcome`, `changed`, and an answer
//! `NUMBER TEXT` to the request of that number, from 0.

use std::fmt::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, timeout};
use usnet_transport::asynchronous::{Caller, Connection, Failure, Received, Settings, Submitted, Task, start};
use usnet_transport::{Outgoing, Protocol};

/// Long enough never to be reached if there is an answer.
pub(crate) const AMPLE: Duration = Duration::from_secs(20);
/// Short enough to wait for if there is none.
pub(crate) const SHORT: Duration = Duration::from_millis(50);

/// A request that is refused before it is sent.
pub(crate) const UNKNOWN: &str = "unknown";
/// A request that needs no answer of the server.
pub(crate) const EMPTY: &str = "empty";

#[derive(Debug)]
pub(crate) enum Error {
    Session(Failure<Error>),
    Unknown,
    Silent,
}

/// The settings of a test, and the calls that it can check afterwards.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) answer_within: Option<Duration>,
    pub(crate) probe_after: Duration,
    pub(crate) window: usize,
    /// The reason of each connection that was closed; `None` if the session was dropped.
    pub(crate) closed: Mutex<Vec<Option<String>>>,
    /// The epochs of the connections that were open.
    pub(crate) disconnected: Mutex<Vec<u64>>,
}

impl Default for Context {
    fn default() -> Self {
        let (closed, disconnected) = (Mutex::default(), Mutex::default());
        Self { answer_within: None, probe_after: AMPLE, window: 2, closed, disconnected }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connected {
    pub(crate) epoch: u64,
    pub(crate) changes: u64,
}

#[derive(Default)]
pub(crate) struct Text {
    outgoing: Outgoing,
    received: Vec<u8>,
}

impl Protocol for Text {
    fn outgoing(&self) -> &[u8] {
        self.outgoing.unsent()
    }

    fn sent(&mut self, bytes: usize) {
        self.outgoing.sent(bytes);
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.received.extend(bytes);
    }
}

pub(crate) struct Lines<const REFUSES: bool> {
    context: Arc<Context>,
    text: Text,
    is_open: bool,
    connected: Connected,
    requests: u64,
    empty: Vec<u64>,
    probed: Option<Instant>,
}

impl<const REFUSES: bool> Lines<REFUSES> {
    fn send(&mut self, line: &str) {
        self.text.outgoing.end().extend([line.as_bytes(), b"\n"].concat());
    }

    fn next_line(&mut self) -> Option<String> {
        let end = self.text.received.iter().position(|byte| *byte == b'\n')?;
        let line = self.text.received.drain(..=end).collect();
        Some(String::from_utf8(line).expect("text").trim_end().to_owned())
    }
}

impl<const REFUSES: bool> Connection for Lines<REFUSES> {
    type Endpoint = Text;
    type Context = Arc<Context>;
    type Request = String;
    type RequestId = u64;
    type Answer = String;
    type Connected = Connected;
    type Error = Error;

    const REFUSES_WHILE_OPENING: bool = REFUSES;

    fn begin(context: &mut Arc<Context>, epoch: u64) -> Result<Self, Error> {
        let mut lines = Self {
            context: Arc::clone(context),
            text: Text::default(),
            is_open: false,
            connected: Connected { epoch, changes: 0 },
            requests: 0,
            empty: Vec::new(),
            probed: None,
        };
        lines.send("hello");
        Ok(lines)
    }

    fn endpoint(&mut self) -> &mut Text {
        &mut self.text
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn connected(&self) -> Connected {
        self.connected
    }

    fn has_room(&self, in_flight: usize) -> bool {
        in_flight < self.context.window
    }

    fn submit(&mut self, request: String) -> Result<Submitted<u64>, Error> {
        if request == UNKNOWN {
            return Err(Error::Unknown);
        }
        let id = self.requests;
        self.requests += 1;
        if request == EMPTY {
            self.empty.push(id);
        } else {
            self.send(&request);
        }
        Ok(Submitted { id, limit: self.context.answer_within })
    }

    fn handle_received(&mut self) -> Result<Received<Self>, Error> {
        let answers = self.empty.drain(..).map(|id| (id, String::new())).collect();
        let mut received = Received { answers, changed: false };
        while let Some(line) = self.next_line() {
            match line.split_once(' ') {
                Some((id, answer)) => received.answers.push((id.parse().expect("a number"), answer.to_owned())),
                None if line == "welcome" => self.is_open = true,
                None => self.connected.changes += 1,
            }
            received.changed |= !line.contains(' ');
        }
        Ok(received)
    }

    fn probe_at(&self, last_received: Instant) -> Instant {
        self.probed.map_or(last_received, |probed| probed.max(last_received)) + self.context.probe_after
    }

    fn probe(&mut self, last_received: Instant) -> Result<Option<Submitted<u64>>, Error> {
        if self.probed.is_some_and(|probed| probed > last_received) {
            return Err(Error::Silent);
        }
        self.probed = Some(Instant::now());
        if self.context.answer_within.is_some() {
            return self.submit("probe".to_owned()).map(Some);
        }
        self.send("probe");
        Ok(None)
    }

    fn pending_request(&self) -> &'static str {
        "a line"
    }

    fn close(&mut self, _socket: BorrowedFd<'_>, reason: Option<&Error>) {
        self.context.closed.lock().expect("no panic").push(reason.map(|reason| format!("{reason:?}")));
    }

    fn disconnected(context: &mut Arc<Context>, last: &Connected) {
        context.disconnected.lock().expect("no panic").push(last.epoch);
    }

    fn error(_socket: &Path, failure: Failure<Error>) -> Error {
        Error::Session(failure)
    }
}

/// The listening socket of a scripted server.
pub(crate) struct Server {
    folder: TempDir,
    listener: UnixListener,
}

impl Server {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("folder");
        let listener = UnixListener::bind(folder.path().join("server.sock")).expect("bind");
        Self { folder, listener }
    }

    pub(crate) fn session<const REFUSES: bool>(&self, context: &Arc<Context>) -> (Caller<Lines<REFUSES>>, Task) {
        let settings = Settings {
            socket: self.folder.path().join("server.sock"),
            connect_timeout: AMPLE,
            retry_min: Duration::from_millis(1),
            retry_max: SHORT,
        };
        start(Arc::clone(context), settings)
    }

    /// Accepts a client, which says hello.
    pub(crate) async fn accept(&self) -> Peer {
        let accepted = timeout(AMPLE, self.listener.accept()).await.expect("in time");
        let mut peer = Peer(BufReader::new(accepted.expect("accept").0));
        assert_eq!(peer.read().await, "hello");
        peer
    }

    /// Accepts a client and completes its handshake.
    pub(crate) async fn welcome(&self) -> Peer {
        let mut peer = self.accept().await;
        peer.write(&["welcome"]).await;
        peer
    }
}

/// The server's end of a connection.
pub(crate) struct Peer(BufReader<UnixStream>);

impl Peer {
    /// Returns the next line, which is empty once the client has closed the connection.
    pub(crate) async fn read(&mut self) -> String {
        let mut line = String::new();
        timeout(AMPLE, self.0.read_line(&mut line)).await.expect("in time").expect("read");
        line.trim_end().to_owned()
    }

    /// Writes lines in one piece.
    pub(crate) async fn write(&mut self, lines: &[&str]) {
        let mut text = String::new();
        lines.iter().for_each(|line| writeln!(text, "{line}").expect("a string grows"));
        self.0.get_mut().write_all(text.as_bytes()).await.expect("write");
    }
}
