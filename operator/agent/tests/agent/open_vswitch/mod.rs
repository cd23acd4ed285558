//! The agent with Open vSwitch.

mod af_xdp;
mod attachments;
mod bonds;
mod captures;
mod foreign_objects;
mod forwarding;
mod garbage;
mod isolation;
mod legacy_pods;
mod local_ports;
mod memory;
mod networks;
mod node_access;
mod offloads;
mod outages;
mod overlay_filter;
mod overlay_reasons;
mod overlays;
mod policies;
mod programs;
mod restarts;
mod server_sockets;
pub(crate) mod testbed;
mod tunnels;
mod uplinks;
mod writable_directories;
