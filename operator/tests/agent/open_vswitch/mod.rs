//! The agent with Open vSwitch.

mod attachments;
mod garbage;
mod networks;
mod outages;
mod restarts;
mod state_directory;
pub(crate) mod testbed;
