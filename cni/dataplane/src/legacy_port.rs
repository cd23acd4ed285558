//! Ports that the older userspace CNI made. They carry no mark of ours; who asks for the removal of one has that plugin's own file about it, and each driver
//! looks whether what is there can be meant.

/// What became of a port of the older plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LegacyPort {
    /// It is gone, or was not there.
    Absent,
    /// Something of its name is there and is not what that plugin makes; it was left alone.
    Foreign {
        /// What is there, and why it is not meant.
        found: String,
    },
}
