//! Run (IO): starts the parts of the controller, and its event loop.
//!
//! 1. [`start`]: options, and the parts that run side by side;
//! 2. [`worker`]: the event loop. It takes changes, evaluates and sends, and never blocks on any of
//!    them;
//! 3. [`metrics`]: what it counts.

pub mod metrics;
mod start;
mod worker;

pub use start::{Error, Options, run};
pub use worker::Ended;
