//! The agent with Open vSwitch.

mod attachments;
mod capture_command;
mod captures;
mod forwarding;
mod garbage;
mod networks;
mod outages;
mod overlay_reasons;
mod overlays;
mod restarts;
pub(crate) mod testbed;
mod tunnels;
mod uplinks;
mod writable_directories;
