//! Measurements between stations.

pub(crate) mod background;
pub(crate) mod count;
pub(crate) mod frames;
pub(crate) mod reachable;
pub(crate) mod report;
