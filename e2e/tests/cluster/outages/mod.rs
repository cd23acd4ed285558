//! Parts that are stopped, are uninstalled or lose their state.

pub(crate) mod api_server;
pub(crate) mod components;
mod crds_removed;
mod etcd_restored;
mod missed_events;
mod silent_agent;
mod taken_port;
pub(crate) mod uninstalled;
mod vpp;
