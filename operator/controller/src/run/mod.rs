//! Run (IO): starts the parts of the controller, and its event loop.
//!
//! 1. [`start`]: options, and the parts that run side by side;
//! 2. [`worker`]: the event loop. It takes changes, evaluates and sends, and never blocks on any of
//!    them;
//! 3. its steps while this replica is the leader, whose state is in [`leader_state`]: [`schedule`]
//!    (when what is evaluated), [`dispatch`] (sends what is due), [`responses`] (what is retried);
//! 4. [`metrics`]: what it counts; [`installation`]: when usnet was installed; [`agents`]: how many
//!    nodes should have an agent; [`check`]: a program of its own that says whether all are ready.

mod agents;
pub mod check;
mod dispatch;
mod installation;
mod leader_state;
pub mod metrics;
mod responses;
mod schedule;
mod start;
mod worker;
#[cfg(test)]
mod worker_tests;

pub use start::{Error, Options, run};
pub use worker::Ended;
