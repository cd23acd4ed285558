//! The state that a session publishes.

use super::Instance;
use crate::Error;
use std::sync::Arc;

pub type State = usnet_transport::asynchronous::State<Connected, Arc<Error>>;

/// A VPP to which a session is connected and whose interface events it receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connected {
    /// The number of the connection, from 1.
    pub epoch: u64,
    /// VPP's release, such as `26.06-release`.
    pub version: String,
    /// The number of interface events on this connection. When it has grown, read the interfaces
    /// again.
    pub changes: u64,
    /// The run of VPP. It is equal until VPP is restarted, however often the session reconnects.
    pub instance: Instance,
    /// Whether this run of VPP differs from that of the last connection. It does not for the first
    /// connection.
    pub restarted: bool,
}
