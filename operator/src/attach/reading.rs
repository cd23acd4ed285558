//! The connections whose request has not arrived yet. A client that opens connections and sends
//! nothing may delay no other one: the newest is always read, and the oldest makes room for it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::io::{AsyncReadExt, copy, sink};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How many requests are read at once. All clients are root of one node, and no peer's credential
/// tells them apart; the agent writes its request at once.
pub(super) const MAX: usize = 64;
/// How long a request may take to arrive, and its answer to be read.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// How much of a request that is too long is read, in bytes.
const IGNORED_MAX: u64 = 1 << 20;

/// The connections that are read, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Reading(VecDeque<oneshot::Sender<()>>);

/// Ends when the connection has to make room; dropped once its request is there.
pub(crate) type Evicted = oneshot::Receiver<()>;

impl Reading {
    /// Adds a connection, and has the oldest end where there would be too many.
    pub(crate) fn add(&mut self) -> Evicted {
        self.0.retain(|open| !open.is_closed());
        if self.0.len() >= MAX {
            self.0.pop_front();
        }
        let (kept, evicted) = oneshot::channel();
        self.0.push_back(kept);
        evicted
    }
}

/// The text of a request: of one that is longer, one byte more. A client that does not send one is
/// not waited for.
///
/// # Errors
/// When it does not arrive in time, or has to make room.
pub(crate) async fn read(stream: &mut UnixStream, evicted: Evicted, longest: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = async {
        (&mut *stream).take(longest + 1).read_to_end(&mut text).await?;
        // What is not read resets the connection, and the client would not get its answer.
        copy(&mut stream.take(IGNORED_MAX), &mut sink()).await
    };
    tokio::select! {
        read = timeout(CLIENT_TIMEOUT, read) => read.map_err(|_| io::Error::from(ErrorKind::TimedOut))??,
        _gone = evicted => return Err(io::Error::new(ErrorKind::ConnectionAborted, "too many clients that send nothing")),
    };
    Ok(text)
}
