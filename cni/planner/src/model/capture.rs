//! Captures of ports, and the marks of what belongs to one in an engine.

use std::fmt;
use std::path::PathBuf;
use usnet_crds::names::fnv1a;

use crate::model::port::PortName;

/// How many captures a node may have at a time: each takes memory of the agent's container, and
/// time of the engine.
pub const CAPTURES_MAX: u8 = 4;

/// The number of a capture on its node. What belongs to a capture in an engine is marked with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureNumber(u8);

impl CaptureNumber {
    pub fn all() -> impl Iterator<Item = Self> {
        (0..CAPTURES_MAX).map(Self)
    }

    /// The port that frames are copied to.
    pub fn port(self) -> PortName {
        PortName::observed(&format!("usnet-cap{}", self.0))
    }

    /// The offset of its lock.
    pub fn offset(self) -> u64 {
        self.0.into()
    }
}

impl fmt::Display for CaptureNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The offset of the lock of a captured port, which is none of a [`CaptureNumber`].
pub fn lock_offset(port: &PortName) -> u64 {
    fnv1a(port.as_str().as_bytes()) | 1 << 32
}

/// Which frames are captured. The direction is the pod's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    Received,
    Sent,
    #[default]
    Both,
}

impl Direction {
    /// Whether frames that the pod receives are captured.
    pub const fn has_received(self) -> bool {
        matches!(self, Self::Received | Self::Both)
    }

    /// Whether frames that the pod sends are captured.
    pub const fn has_sent(self) -> bool {
        matches!(self, Self::Sent | Self::Both)
    }
}

/// What an engine is requested to copy, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    pub number: CaptureNumber,
    /// The port of the pod.
    pub port: PortName,
    /// The socket of the capturing program, to which the engine connects.
    pub socket: PathBuf,
    pub direction: Direction,
    /// The longest part of a frame that is needed, in bytes, if it need not be whole. VPP copies
    /// whole frames nevertheless.
    pub snaplen: Option<u16>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_of_ports_and_numbers_never_coincide() {
        for port in ["vhu0123456789a", "", "usnet-cap0"] {
            let offset = lock_offset(&PortName::observed(port));
            assert!(CaptureNumber::all().all(|number| number.offset() != offset), "{port}");
        }
    }
}
