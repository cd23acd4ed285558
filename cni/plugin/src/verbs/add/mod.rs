//! ADD: attaches one interface of a pod to a network.
//!
//! 1. [`AddRequest::parse`] validates the environment and the configuration. No IO.
//! 2. [`AddRequest::prepare`] checks and determines everything that it can without a change. IO:
//!    reads files of the node, and connects to the engine.
//! 3. [`AddRequest::attach`] cleans up after earlier calls and runs the steps of
//!    [`attachment`](crate::attachment), or compares the interface with an earlier ADD of the same
//!    parameters (`repeat`). IO.
//! 4. [`AddRequest::result`] is printed by the caller. No IO.

mod directory;
mod prepare;
mod repeat;
mod request;
mod run;

pub use request::AddRequest;
pub use run::Attached;
