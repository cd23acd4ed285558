//! The rows of the table of performance targets. Each runs once with the controllers and, where
//! there is a floor, once with the raw client in their place.

pub(crate) mod change;
pub(crate) mod leader_change;
pub(crate) mod node_outage;
pub(crate) mod pods;
pub(crate) mod rest;

/// Resources by which writes are counted.
pub(crate) const COMPILED: &str = "compilednetworks";
pub(crate) const NODE_STATUS: &str = "userspacenodestates/status";
pub(crate) const NETWORK_STATUS: &str = "userspacenetworks/status";
