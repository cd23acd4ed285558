//! The diff of observed and desired state: a list of operations. No IO.
//!
//! [`plan`] lists the deletions (`removal`) and then what is created or updated (`diff`), as far as
//! it differs from what is observed (`matching`); [`blockers`] are the conflicts that it leaves to
//! operators.

mod blocker;
mod diff;
mod matching;
mod operation;
mod removal;
#[cfg(test)]
mod tests;

pub use blocker::{Blocker, blockers};
pub use diff::plan;
pub(crate) use matching::{adoption_blocker, bridge_matches_spec, port_matches_spec};
pub use operation::Op;
