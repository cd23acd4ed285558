//! The commands. Each has a function `run` that reads what it needs (IO), and pure ones: from a
//! snapshot to a report, and from the report to its text.

pub(crate) mod capture;
pub(crate) mod explain;
pub(crate) mod graph;
pub(crate) mod history;
pub(crate) mod migrate;
mod names;
pub(crate) mod plan;
pub(crate) mod pods;
mod shared;
pub(crate) mod status;
pub(crate) mod support_bundle;
pub(crate) mod test;
pub(crate) mod top;
pub(crate) mod trace;
pub(crate) mod version;
