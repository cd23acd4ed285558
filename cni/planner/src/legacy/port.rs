//! Ports that the legacy userspace CNI created. They have no ownership tag of usnet. The caller
//! knows them from the state file of the legacy plugin, and the driver verifies that the object in
//! the engine matches.

use std::fmt;

/// Where to find a port of the legacy plugin. Each engine uses what it can search by.
#[derive(Clone, Copy)]
pub struct LegacyPortLocation<'a> {
    /// The bridge of Open vSwitch, where that is known.
    pub bridge: Option<&'a str>,
    /// The name of the port in Open vSwitch.
    pub port: &'a str,
    /// Whether a socket of VPP, by its path, is its own.
    pub owns_socket: &'a (dyn Fn(&str) -> bool + Sync),
}

impl fmt::Debug for LegacyPortLocation<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bridge, port, .. } = self;
        formatter.debug_struct("LegacyPortLocation").field("bridge", bridge).field("port", port).finish_non_exhaustive()
    }
}

/// The result of deleting a port of the legacy plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LegacyPort {
    /// The port was deleted, or did not exist.
    Absent,
    /// An object of that name exists and was not created by the legacy plugin; it was not changed.
    Foreign {
        /// What was found, and why it is not a port of the legacy plugin.
        found: String,
    },
}
