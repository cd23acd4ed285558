//! The configuration of a port in OpenFlow 1.0 (`ofp_port_config`, openflow-1.0.h).

use crate::PortNumber;

/// Whether an open port gets what is flooded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flooding {
    ToAll,
    /// It is left as it is: policies decide it, by [`set_flooding`](super::set_flooding).
    AsItIs,
}

/// The configuration of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortConfig {
    pub name: String,
    pub(super) number: u16,
    pub(super) mac: [u8; 6],
    pub(super) config: u32,
}

impl PortConfig {
    /// A port with one of these flags is down, or does not receive, flood or send.
    const CLOSED: u32 = 1 | 1 << 2 | Self::NO_FLOOD | 1 << 5;

    pub(super) const NO_FLOOD: u32 = 1 << 4;

    /// Whether frames whose receiver is not known are sent to the port.
    pub(super) const fn is_flooded(&self) -> bool {
        self.config & Self::NO_FLOOD == 0
    }

    /// Whether the bridge lets the port carry frames. The local port is left to the node, and
    /// counts as open.
    #[must_use]
    pub const fn is_open(&self, flooding: Flooding) -> bool {
        self.number == PortNumber::LOCAL.number() || self.config & Self::closed(flooding) == 0
    }

    pub(super) const fn closed(flooding: Flooding) -> u32 {
        match flooding {
            Flooding::ToAll => Self::CLOSED,
            Flooding::AsItIs => Self::CLOSED & !Self::NO_FLOOD,
        }
    }
}
