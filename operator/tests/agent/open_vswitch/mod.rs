//! The agent with Open vSwitch.

mod attachments;
mod networks;
mod outages;
pub(crate) mod testbed;
