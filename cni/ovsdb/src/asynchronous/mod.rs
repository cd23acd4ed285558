//! A long-lived session with automatic reconnect, which watches tables and keeps a copy of them.
//!
//! It is a session of `usnet-transport` with the hooks of this protocol (`connection`). It reads
//! while it writes, and publishes the monitor's updates before it delivers an answer: after
//! [`Handle::transact`] the published copy has the transaction's effect.

mod connection;
mod options;
mod session;
mod state;
#[cfg(test)]
mod tests;

pub use options::Options;
pub use session::{Handle, Session};
pub use state::{Snapshot, State};
