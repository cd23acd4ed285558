//! What is run in one cluster each.

pub(crate) mod definitions;
pub(crate) mod networks;
pub(crate) mod real;
pub(crate) mod sizes;
mod start;
