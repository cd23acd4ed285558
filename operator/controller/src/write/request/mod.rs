//! The requests (IO). The client is behind the [`Fence`](crate::leader::Fence): a request that is
//! not sent because another replica may be the leader is left to that one.
//!
//! [`send()`] sends one write: its body is in [`objects`], its verb in [`verbs`], and networks that
//! are generated from NADs have a request of their own ([`network_from_nad`]), as have attachments
//! ([`attachment`]).

mod attachment;
mod log;
mod network_from_nad;
mod objects;
mod outcome;
mod send;
#[cfg(test)]
mod tests;
mod verbs;

pub use outcome::{Done, Error, Outcome};
pub use send::send;
pub(crate) use verbs::FIELD_MANAGER;
