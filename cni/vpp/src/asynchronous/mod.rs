//! A long-lived session with automatic reconnect: it distinguishes a restarted VPP from a lost
//! connection, and counts interface events.
//!
//! One task owns the connection. It reads while it writes, so that requests of several handles are
//! in flight at once.
//!
//! [`Session`] and [`Handle`] send batches to the task (`task`), which opens (`opening`) and serves
//! (`connection`) one connection after the other; all IO is in these two. Callers whose batches VPP
//! works on are in `waiting`.

mod connection;
mod instance;
mod opening;
mod options;
mod session;
mod state;
mod task;
mod waiting;

pub use instance::{Instance, SocketFile};
pub use options::Options;
pub use session::{Handle, Session};
pub use state::{Connected, State};
