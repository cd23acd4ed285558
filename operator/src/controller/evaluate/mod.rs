//! Evaluate (pure): evaluates what is marked [`Dirty`](super::cache::dirty::Dirty) and puts the
//! writes into the [`Queue`](super::write::queue::Queue). It neither sends nor waits; time is
//! passed in.

mod evaluator;
mod outbox;

pub use evaluator::Evaluator;
pub use outbox::{Now, Outbox};
