//! What happens to a node: power that is lost, and programs that are killed.

pub(crate) mod power;
pub(crate) mod programs;
