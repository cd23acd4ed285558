//! A long-lived session with automatic reconnect, which distinguishes a restarted VPP from a lost
//! connection, and counts interface events.
//!
//! It is a session of `usnet-transport` with the hooks of this protocol (`connection`), which begin
//! with a handshake (`opening`). It reads while it writes, so that requests of several handles are
//! in flight at once.

mod connection;
mod instance;
mod opening;
mod options;
mod session;
mod state;

pub use instance::{Instance, SocketFile};
pub use options::Options;
pub use session::{Handle, Session};
pub use state::{Connected, State};
