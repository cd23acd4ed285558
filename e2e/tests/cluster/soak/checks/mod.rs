//! Checks that everything is as declared at the end.

pub(crate) mod compiled;
pub(crate) mod converged;
pub(crate) mod legacy_nads;
pub(crate) mod objects;
