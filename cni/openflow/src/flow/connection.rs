//! Matches on tracked connections.

use super::masked::{Bits, Masked};
use super::oxm::{NiciraField, Oxm};

/// Bits of the state (`CS_*`, packets.h of Open vSwitch).
const NEW: u32 = 1;
const RELATED: u32 = 4;
const REPLY: u32 = 8;
const INVALID: u32 = 0x10;
const TRACKED: u32 = 0x20;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// What is known of the connection of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConnectionState {
    #[default]
    Any,
    /// It was not looked up.
    Untracked,
    /// It was looked up, and the packet belongs to none.
    Invalid,
    /// It was looked up, and is one.
    Tracked,
    /// The connection is not remembered yet.
    New,
    /// The packet is about a connection, such as an error message.
    Related,
    /// The packet goes to where the connection came from.
    Reply,
}

/// Fields of a connection as its first packet had them, so that answers match as well. A match on
/// any of them is one on tracked packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original<A> {
    pub src: Option<Masked<A>>,
    pub dst: Option<Masked<A>>,
    pub payload: OriginalPayload,
}

/// What the first packet carried. The packet itself has the same protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OriginalPayload {
    #[default]
    Any,
    Tcp {
        dst: Option<Masked<u16>>,
    },
    Udp {
        dst: Option<Masked<u16>>,
    },
}

impl<A> Default for Original<A> {
    fn default() -> Self {
        Self { src: None, dst: None, payload: OriginalPayload::Any }
    }
}

impl ConnectionState {
    pub(super) fn encode(self, oxm: &mut Oxm) {
        let valid = TRACKED | INVALID;
        let (value, mask) = match self {
            Self::Any => return,
            Self::Untracked => (0, TRACKED),
            Self::Invalid => (INVALID, INVALID),
            Self::Tracked => (TRACKED, valid),
            Self::New => (TRACKED | NEW, valid | NEW),
            Self::Related => (TRACKED | RELATED, valid | RELATED),
            Self::Reply => (TRACKED | REPLY, valid | REPLY),
        };
        oxm.push_nicira(NiciraField::CtState, Some(Masked::new(value, mask)));
    }
}

impl<A: Bits> Original<A> {
    pub(super) fn is_any(&self) -> bool {
        self.src.is_none() && self.dst.is_none() && self.payload == OriginalPayload::Any
    }

    /// The fields of the addresses follow from the family.
    pub(super) fn encode(&self, (src, dst): (NiciraField, NiciraField), oxm: &mut Oxm) {
        oxm.push_nicira(src, self.src);
        oxm.push_nicira(dst, self.dst);
        if let (Some(protocol), port) = (self.payload.protocol(), self.payload.dst()) {
            oxm.push_nicira(NiciraField::CtNwProto, Some(protocol.into()));
            oxm.push_nicira(NiciraField::CtTpDst, port);
        }
    }
}

impl OriginalPayload {
    /// The number of the protocol.
    #[must_use]
    pub const fn protocol(self) -> Option<u8> {
        match self {
            Self::Any => None,
            Self::Tcp { .. } => Some(TCP),
            Self::Udp { .. } => Some(UDP),
        }
    }

    /// The destination port.
    #[must_use]
    pub const fn dst(self) -> Option<Masked<u16>> {
        match self {
            Self::Any => None,
            Self::Tcp { dst } | Self::Udp { dst } => dst,
        }
    }
}
