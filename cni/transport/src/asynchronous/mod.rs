//! A long-lived session on tokio that reconnects. One task owns the connection; callers send it
//! requests.
//!
//! - [`Connection`]: the hooks by which a protocol takes part.
//! - [`start`]: starts the task (`task`), which serves one connection after the other. All IO is
//!   there and in `socket`; `waiting` has the requests in flight with their callers, and `backoff`
//!   decides when to reconnect.
//! - [`Caller`] and [`State`]: the parts of which clients build their handles.

mod backoff;
mod caller;
mod connection;
mod request;
mod socket;
mod state;
mod task;
mod waiting;

pub use caller::{Caller, Task, start};
pub use connection::{Connection, Failure, Received, Settings, Submitted};
pub use state::State;
