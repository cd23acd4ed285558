//! A long-lived session with automatic reconnect: it watches tables and keeps a copy of them.
//!
//! One task owns the connection. It reads while it writes, and publishes the monitor's updates
//! before it delivers an answer: after [`Handle::transact`] the published copy has the
//! transaction's effect.
//!
//! [`Session`] and [`Handle`] send transactions to the task (`task`), which serves one connection
//! (`connection`: all IO is there) after the other. Callers whose transactions the server works on
//! are in `waiting`.

mod connection;
mod options;
mod session;
mod state;
mod task;
mod waiting;

pub use options::Options;
pub use session::{Handle, Session};
pub use state::{Snapshot, State};
