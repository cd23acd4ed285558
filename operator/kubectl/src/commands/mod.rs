//! The commands. Each has a function `run` that reads what the command needs (IO), and pure
//! functions that make a report of a snapshot, and a text of the report.

pub(crate) mod capture;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod history;
pub(crate) mod migrate;
mod names;
pub(crate) mod plan;
pub(crate) mod pods;
pub(crate) mod report;
mod shared;
pub(crate) mod status;
pub(crate) mod support_bundle;
pub(crate) mod test;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod version;
