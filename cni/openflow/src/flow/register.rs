//! Registers, which a frame has while it passes the tables: all are 0 at first.

/// The class of the registers and later fields of Nicira.
pub(super) const NICIRA_1: u16 = 1;

/// A register of 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Register {
    R0 = 0,
    R1 = 1,
    R2 = 2,
    R3 = 3,
    R4 = 4,
    R5 = 5,
    R6 = 6,
    R7 = 7,
}

impl Register {
    /// The field without a mask, with its length.
    pub(super) const fn header(self) -> u32 {
        (NICIRA_1 as u32) << 16 | (self as u32) << 9 | 4
    }
}
