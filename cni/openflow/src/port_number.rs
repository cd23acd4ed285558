//! Numbers of ports.

use std::fmt;

/// The number of a port of a bridge (`ofport`), which OpenFlow 1.0 has in 16 bits and later
/// versions in 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortNumber(u16);

impl PortNumber {
    /// The bridge's local port, which is a device of the node.
    pub const LOCAL: Self = Self(0xfffe);
    /// The last number of other ports; those above have special meanings.
    const LAST: u16 = 0xfeff;

    /// The port with this number in OpenFlow 1.0 or in the database; none for 0, which no port has,
    /// and for numbers with special meanings.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        if number == Self::LOCAL.0 || (number >= 1 && number <= Self::LAST) { Some(Self(number)) } else { None }
    }

    /// The number in 16 bits.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The number in OpenFlow 1.1 and later: special ones have all higher bits.
    pub(crate) fn long(self) -> u32 {
        let number = u32::from(self.0);
        if self.0 > Self::LAST { number | 0xffff_0000 } else { number }
    }

    pub(crate) fn from_long(number: u32) -> Option<Self> {
        let [high @ .., a, b] = number.to_be_bytes();
        let port = Self::new(u16::from_be_bytes([a, b]))?;
        let expected = if port == Self::LOCAL { [0xff; 2] } else { [0; 2] };
        (high == expected).then_some(port)
    }
}

impl fmt::Display for PortNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::LOCAL { formatter.write_str("LOCAL") } else { write!(formatter, "{}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_numbers_are_not_ports_but_the_local_one() {
        for (number, long) in [(1, Some(1)), (0xfeff, Some(0xfeff)), (0xfffe, Some(0xffff_fffe))] {
            assert_eq!(PortNumber::new(number).map(PortNumber::long), long);
        }
        for number in [0, 0xff00, 0xfffa, 0xffff] {
            assert_eq!(PortNumber::new(number), None);
        }
        for (long, number) in [(1, Some(1)), (0xffff_fffe, Some(0xfffe)), (0xfffe, None), (0x1_0001, None), (0, None)] {
            assert_eq!(PortNumber::from_long(long).map(PortNumber::number), number);
        }
    }
}
