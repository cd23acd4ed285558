//! The parts of a long-lived session on tokio. One task owns the connection; callers send it
//! requests.
//!
//! - [`Socket`]: the connection. IO.
//! - [`Caller`] and [`Request`]: how requests get to the task, and answers and the session's state
//!   back.
//! - [`Task`]: the task, which ends with its session.
//! - [`Backoff`]: when to connect again; requests fail meanwhile.

mod backoff;
mod caller;
mod socket;

pub use backoff::{Backoff, reject};
pub use caller::{Caller, Request, Task};
pub use socket::Socket;
