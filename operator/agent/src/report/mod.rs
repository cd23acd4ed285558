//! What the agent reports about its node.
//!
//! 1. [`engine_report`]: the result of one reconcile, in the terms of the `UserspaceNodeState`.
//! 2. [`node_report`]: the results of all engines, merged.
//! 3. [`node_status`]: the status of the `UserspaceNodeState`.
//! 4. [`status_writer`] (IO) writes it to the API server, [`state_writer`] (IO) to a file on the
//!    node.
//!
//! Besides, [`metrics`] counts, [`transition_log`] and [`replay`] log what changed, with the fields
//! of [`log_subject`], and [`history_recorder`] records what was done for the history of the node.
//! [`garbage_counter`] (IO) counts what the garbage collection did, [`call_counter`] (IO) the calls
//! of the CNI plugin, and [`refused_counter`] (IO) refused packets to overlays.

pub(crate) mod call_counter;
pub(crate) mod engine_report;
pub(crate) mod garbage_counter;
mod guard_metrics;
pub(crate) mod history_recorder;
pub(crate) mod log_subject;
mod metric_options;
pub mod metrics;
pub(crate) mod node_report;
pub mod node_status;
pub(crate) mod refused_counter;
pub(crate) mod replay;
pub(crate) mod state_writer;
pub(crate) mod status_writer;
pub(crate) mod transition_log;
