//! The hooks by which a protocol takes part in a session.

use crate::{Protocol, TransferError};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// One connection of a session, from its first byte to the error that ends it. It does no IO,
/// except in [`Self::begin`] and [`Self::close`].
pub trait Connection: Sized + Send + 'static {
    type Endpoint: Protocol + Send;
    /// Data that lives as long as the session: options, and what one connection leaves for the
    /// next.
    type Context: Send + 'static;
    type Request: Send + 'static;
    type RequestId: Copy + Ord + Send + 'static;
    type Answer: Send + 'static;
    /// The description of an open connection, which is published.
    type Connected: Clone + Send + Sync + 'static;
    type Error: Send + Sync + 'static;

    /// Whether requests fail at once while a connection is opened. Otherwise they wait for it.
    const REFUSES_WHILE_OPENING: bool;

    /// Begins a connection, before its socket connects. `epoch` is its number, from 1; connections
    /// that were never open do not count.
    fn begin(context: &mut Self::Context, epoch: u64) -> Result<Self, Self::Error>;

    fn endpoint(&mut self) -> &mut Self::Endpoint;

    /// Whether the handshake is complete. Before that, no request is submitted and nothing is
    /// published.
    fn is_open(&self) -> bool;

    /// Returns the description of this connection. It is called only once the connection is open.
    fn connected(&self) -> Self::Connected;

    /// Whether another request may be submitted while this many are in flight.
    fn has_room(&self, in_flight: usize) -> bool;

    /// Queues a request. An error is one of this request only: the connection goes on.
    fn submit(&mut self, request: Self::Request) -> Result<Submitted<Self::RequestId>, Self::Error>;

    /// Handles all received bytes. An error ends the connection.
    fn handle_received(&mut self) -> Result<Received<Self>, Self::Error>;

    /// Returns when to call [`Self::probe`] if nothing more is received, unless a request has a
    /// deadline.
    fn probe_at(&self, last_received: Instant) -> Instant;

    /// Queues a probe to a silent server, which may be a request with a deadline. An error ends the
    /// connection: the server did not answer an earlier probe in time.
    fn probe(&mut self, last_received: Instant) -> Result<Option<Submitted<Self::RequestId>>, Self::Error>;

    /// Names the request that the server has to answer next, for an error.
    fn pending_request(&self) -> &'static str;

    /// Ends the connection in the way that the server needs. Without a `reason`, the session was
    /// dropped or the runtime ends. It blocks its thread.
    fn close(&mut self, _socket: BorrowedFd<'_>, _reason: Option<&Self::Error>) {}

    /// Is called when a connection that was open has ended.
    fn disconnected(_context: &mut Self::Context, _last: &Self::Connected) {}

    fn error(socket: &Path, failure: Failure<Self::Error>) -> Self::Error;
}

/// The socket and the times of a session.
#[derive(Debug, Clone)]
pub struct Settings {
    pub socket: PathBuf,
    pub connect_timeout: Duration,
    /// The first pause before connecting again; doubles up to `retry_max`.
    pub retry_min: Duration,
    pub retry_max: Duration,
}

/// A request that was queued.
#[derive(Debug, Clone, Copy)]
pub struct Submitted<I> {
    pub id: I,
    /// The time that the server has for the answer. After that the connection is closed.
    pub limit: Option<Duration>,
}

/// The result of handling received bytes.
#[derive(Debug)]
pub struct Received<C: Connection> {
    pub answers: Vec<(C::RequestId, C::Answer)>,
    /// Whether [`Connection::connected`] has changed. It is published before callers get their
    /// answers.
    pub changed: bool,
}

/// The events of a session that clients report as their own errors.
#[derive(Debug)]
pub enum Failure<E> {
    /// The session was just started.
    NotYetConnected,
    Connect(io::Error),
    /// The connection failed while `request` had no answer.
    Transfer {
        request: &'static str,
        error: TransferError,
    },
    /// There was no connection. Nothing was sent.
    NotSent(Arc<E>),
    /// The connection was lost before the answer was received.
    AnswerLost(Arc<E>),
    /// The session was dropped while a caller exists.
    SessionEnded,
}
