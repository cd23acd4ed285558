//! Limits the connections whose request has not arrived yet. A client that opens connections and
//! sends nothing must not delay others: the newest connection is always read, and the oldest is
//! closed for it.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::io::{AsyncReadExt, copy, sink};
use tokio::net::UnixStream;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// The maximum number of requests that are read at once. The limit is not per client, because all
/// are root of one node and their credentials do not differ; the agent writes its request at once.
pub(super) const MAX: usize = 64;
/// How long a request may take to arrive, and how long the client may take to read the answer.
pub(crate) const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// How many bytes beyond the maximum size of a request are read.
const IGNORED_MAX: u64 = 1 << 20;

/// The connections that are being read, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Reading(VecDeque<oneshot::Sender<()>>);

/// Completes when the connection has to be closed for a newer one. It is dropped once the request
/// has arrived.
pub(crate) type Evicted = oneshot::Receiver<()>;

impl Reading {
    /// Adds a connection, and evicts the oldest if there are too many.
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

/// Reads the text of a request; of one that is too long, `longest` and one byte.
///
/// # Errors
/// The request did not arrive in time, or the connection was evicted.
pub(crate) async fn read(stream: &mut UnixStream, evicted: Evicted, longest: u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = async {
        (&mut *stream).take(longest + 1).read_to_end(&mut text).await?;
        // Unread bytes would reset the connection, and the client would not get its answer.
        copy(&mut stream.take(IGNORED_MAX), &mut sink()).await
    };
    tokio::select! {
        read = timeout(CLIENT_TIMEOUT, read) => read.map_err(|_| io::Error::from(ErrorKind::TimedOut))??,
        _gone = evicted => return Err(io::Error::new(ErrorKind::ConnectionAborted, "too many clients that send nothing")),
    };
    Ok(text)
}
