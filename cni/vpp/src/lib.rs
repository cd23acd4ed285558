//! A client of VPP's binary API over its unix socket.
//!
//! Without IO:
//! - [`wire`]: frames, envelopes and fields. A [`wire::Secret`] is never printed.
//! - [`messages`]: one table of messages with name, CRC, plugin and fields. It has both directions,
//!   so that a simulator can use it.
//! - `batch`, `answers`: requests and dumps, with a ticket for each that finds the reply or the
//!   details.
//! - `return_code`: VPP's names for refusals, with advice.
//! - `endpoint`: the client's end of a connection, with message ids, requests in flight, and
//!   events.
//!
//! With IO:
//! - [`blocking`]: [`blocking::Client`], without a runtime, for short-lived programs.
//! - `asynchronous` (feature `async`): `Session`, a long-lived session with automatic reconnect
//!   that counts interface events.
//! - `shutdown`: the orderly end of a connection.
//! - [`stats`]: counters, which VPP provides in shared memory.
//!
//! Code for both clients takes an [`Api`].
//!
//! The following behaviour of VPP is not documented. It was seen with VPP 26.06 (one thread, no
//! huge pages); `e2e/vpp/tests/behaviour` checks most of it on VPP and on the simulator. Behaviour
//! of single messages is described with them in [`messages`].
//! - Message ids depend on the loaded plugins and change with each start of VPP: they are read on
//!   each connection. Only the ids 15 and 16, for connecting, are fixed.
//! - VPP does not reply to a message that is unknown, too short, or has a wrong client index: every
//!   wait has a timeout, and messages that VPP lacks are never sent.
//! - A missing plugin and an old VPP look alike: [`Error::Unsupported`] distinguishes them.
//! - Replies arrive in the order of the requests, but an event may arrive between any two: events
//!   are distinguished by their id.
//! - The end of file of a client's socket can hang VPP: each working connection ends with an
//!   orderly shutdown.
//! - There are no events about bridge domains, tags and MTUs, and no transactions: callers read
//!   back what they created, and read again from time to time.
//! - A message may contain a secret: no type with encoded requests prints them.

mod answers;
mod api;
#[cfg(feature = "async")]
pub mod asynchronous;
mod batch;
pub mod blocking;
mod endpoint;
mod error;
pub mod messages;
mod return_code;
mod shutdown;
pub mod stats;
pub mod wire;

pub use answers::{Answers, ReplyError};
pub use api::Api;
pub use batch::{Batch, DumpTicket, GetTicket, Ticket};
pub use error::{Error, ProtocolError, Remedy};
pub use messages::{Descriptor, Dump, Get, Message, Reply, Request};
pub use return_code::ReturnCode;
