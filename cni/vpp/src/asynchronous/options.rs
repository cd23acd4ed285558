//! The options of a session.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone)]
pub struct Options {
    pub socket: PathBuf,
    /// The time for connecting, and for a batch in addition to the time for its requests and those
    /// before it.
    pub timeout: Duration,
    /// After this time without received data a control ping is sent, which must be answered within
    /// `timeout`: a hanging VPP is noticed after the sum of both.
    pub probe_after: Duration,
    /// The first pause before reconnecting. It doubles up to `retry_max`.
    pub retry_min: Duration,
    pub retry_max: Duration,
}

impl Options {
    /// - A batch has 10 s: VPP answers a request in less than a millisecond, and a shorter limit
    ///   could end the connection to a VPP that is only busy.
    /// - A probe is sent after 5 s: one request in that time costs nothing.
    /// - Pauses are from 50 ms, so that a restarted VPP is connected to at once, to 1 s, which is
    ///   what pods wait at most after VPP is back.
    #[must_use]
    pub fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
            timeout: Duration::from_secs(10),
            probe_after: Duration::from_secs(5),
            retry_min: Duration::from_millis(50),
            retry_max: Duration::from_secs(1),
        }
    }
}
