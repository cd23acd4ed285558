//! Evaluate (pure): evaluates what is marked [`Dirty`](super::cache::dirty::Dirty) and puts the
//! writes into the [`Queue`](super::write::queue::Queue). It neither sends nor waits; time is
//! passed in.
//!
//! - [`evaluator`]: networks, nodes and statuses, with [`compile`](super::compile),
//!   [`status`](super::status) and [`legacy`](super::legacy);
//! - [`attachments`]: what a UserspaceAttachment needs;
//! - [`reservations`]: what reservations get, and their statuses;
//! - [`nad_scans`]: the NADs that remain to be compared;
//! - [`outbox`]: the destination of the writes.

mod attachments;
mod evaluator;
mod nad_scans;
mod outbox;
mod refusals;
mod reservations;

pub use evaluator::Evaluator;
pub use outbox::{Now, Outbox};
