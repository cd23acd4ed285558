//! Faults of a node: loss of power, and killed programs.

pub(crate) mod power;
pub(crate) mod programs;
