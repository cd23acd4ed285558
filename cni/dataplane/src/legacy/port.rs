//! Ports that the legacy userspace CNI created. They have no ownership tag of usnet. The caller
//! knows them from the state file of the legacy plugin, and the driver verifies that the object in
//! the engine matches.

/// The result of deleting a port of the legacy plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LegacyPort {
    /// It was deleted, or did not exist.
    Absent,
    /// An object of that name exists and was not created by the legacy plugin; it was not changed.
    Foreign {
        /// What is there, and why it is not meant.
        found: String,
    },
}
