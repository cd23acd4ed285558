//! Priorities of the flows of a port.

/// Where flows are in the order of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(super) enum Priority {
    Hidden = 125,
    Neighbors = 120,
    Refused = 110,
    Allowed = 100,
    Rest = 10,
}
