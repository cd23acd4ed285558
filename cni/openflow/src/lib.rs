//! A client of bridges of Open vSwitch in OpenFlow: what is not in their database, over the
//! management socket of each bridge (`<bridge>.mgmt`, ovs-vswitchd(8)), which needs no controller
//! and no listener.
//!
//! Two versions, because neither has everything: the flag that a port is not flooded to is in 1.0
//! alone, and bundles, which replace many flows at once, are in 1.4.
//!
//! Without IO:
//! - [`wire`]: the bytes of a connection, as messages.
//! - [`flow`]: flows of OpenFlow 1.4 as values that cannot be malformed.
//! - [`messages`]: requests and replies of OpenFlow 1.4.
//! - [`Difference`]: how the flows that a bridge has differ from those that it should have.
//!
//! With IO, and a deadline for all requests of a connection together:
//! - [`Connection`]: ports, flows and groups in OpenFlow 1.4.
//! - [`forwarding`]: in OpenFlow 1.0, whether a bridge forwards like a learning switch, and which
//!   ports it floods to.
//!
//! Behaviour of Open vSwitch, seen with 3.1 and checked by the tests:
//! - A message that a bundle refuses does not stop its commit: the rest is committed.
//! - A bundle with a flow to a group that is not there ends ovs-vswitchd.
//! - A change is answered only if it fails: a barrier after it tells when it was carried out.
//! - First fragments of IP are matched as if they had no ports and no types of ICMP, until
//!   [`Connection::match_carried_fragments`], which goes with the process of the switch.
//! - Some matches on the first packet of a connection are read back without the port.
//! - After a change of flows, packets may be forwarded as before it for as long as they are sent,
//!   unless the datapath forgets how: the data plane's `generation` has it do that.
//! - Flows go with the process of the switch, with a change of `fail_mode` and with the first
//!   controller. They stay when their port is removed.

mod channel;
mod connection;
mod difference;
mod error;
pub mod flow;
pub mod forwarding;
pub mod messages;
mod port_number;
pub mod wire;

pub use connection::Connection;
pub use difference::Difference;
pub use error::OpenFlowError;
pub use messages::{
    Change, FlowFilter, FlowMod, FragmentMode, GroupMod, InstalledFlow, InstalledGroup, PortDescription,
};
pub use port_number::PortNumber;

use std::path::{Path, PathBuf};

/// Returns the management socket of a bridge, in the folder of the database's socket.
#[must_use]
pub fn socket(folder: &Path, bridge: &str) -> PathBuf {
    folder.join(format!("{bridge}.mgmt"))
}
