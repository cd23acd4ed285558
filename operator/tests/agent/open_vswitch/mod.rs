//! The agent with Open vSwitch.

mod attachments;
mod garbage;
mod networks;
mod outages;
mod overlays;
mod restarts;
mod state_directory;
pub(crate) mod testbed;
