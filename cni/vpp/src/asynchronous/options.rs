//! What a session connects to.

use std::path::PathBuf;
use std::time::Duration;

/// What a session connects to, and its times.
#[derive(Debug, Clone)]
pub struct Options {
    /// VPP's socket.
    pub socket: PathBuf,
    /// How long connecting may take, and a batch on top of the time for its requests and those
    /// before it.
    pub timeout: Duration,
    /// After this time without received data a control ping is sent, which must be answered within
    /// `timeout`: a hanging VPP is noticed after the sum of both.
    pub probe_after: Duration,
    /// The first pause before connecting again; doubles up to `retry_max`.
    pub retry_min: Duration,
    /// The longest pause before connecting again.
    pub retry_max: Duration,
}

impl Options {
    /// - 10 s for a batch: VPP answers a request in less than a millisecond, and a shorter limit
    ///   could end the connection to a VPP that is only busy.
    /// - A probe after 5 s: one request in that time costs nothing.
    /// - Pauses from 50 ms, so that a restarted VPP is connected to at once, to 1 s, which is what
    ///   pods wait at most after VPP is back.
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
