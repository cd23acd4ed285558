//! Agents without nodes, all in one process so that its CPU time is counted apart. Each has a token
//! and connections of its own, watches what a real agent watches, selects by the same function, and
//! reports as sparsely and as calmly.
//!
//! The benchmark starts this program once more ([`process`]) and talks to it in lines of JSON
//! ([`protocol`]).

mod agent;
mod counters;
pub(crate) mod fleet;
mod known;
mod pace;
pub(crate) mod process;
pub(crate) mod protocol;
mod silent;
pub(crate) mod simulated;
