//! The control plane: its audit log, its controllers, tokens, and simulated nodes.

pub(crate) mod audit;
pub(crate) mod controllers;
pub(crate) mod simulated_nodes;
pub(crate) mod tokens;
