//! Simulated agents without nodes, in one process, whose CPU time is measured separately. Each has
//! its own token and connections, watches what a real agent watches, selects networks by the same
//! function, and writes the same reports at the same times.
//!
//! The benchmark starts this program again as that process ([`process`]), and sends it commands as
//! lines of JSON ([`protocol`]).

mod agent;
mod agent_state;
mod counters;
pub(crate) mod fleet;
pub(crate) mod node_report;
pub(crate) mod process;
pub(crate) mod protocol;
mod report_schedule;
mod silent;
pub(crate) mod simulated;
