//! The configuration of a bridge in OpenFlow, which goes with the process of the switch.

use crate::wire::{Malformed, Reader};

/// The bits for fragments: Open vSwitch has one value besides those of the standard.
const MASK: u16 = 3;
const CARRIED: u16 = 3;

/// How fragments of IP are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FragmentMode {
    /// First fragments have no ports and no types of ICMP, whatever they carry. A bridge begins
    /// with it.
    Normal,
    /// First fragments have the ports and types that they carry (`nx-match`).
    Carried,
    /// Fragments are dropped, or put together, which Open vSwitch does not.
    Other,
}

impl FragmentMode {
    /// The content of the message that sets [`Self::Carried`]. Frames without a flow are not sent
    /// to the client.
    pub(crate) const CARRIED: [u8; 4] = [0, CARRIED as u8, 0, 0];

    /// Reads the configuration.
    pub fn decode(body: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(body, "a configuration");
        let (flags, _miss_send_len) = (reader.u16()?, reader.u16()?);
        Ok(match flags & MASK {
            0 => Self::Normal,
            CARRIED => Self::Carried,
            _ => Self::Other,
        })
    }
}
