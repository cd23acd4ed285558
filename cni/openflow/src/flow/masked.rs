//! Values of which some bits are matched.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A value with bits.
pub trait Bits: Copy {
    /// The bits, in network order.
    fn bytes(self) -> Vec<u8>;
}

impl Bits for u8 {
    fn bytes(self) -> Vec<u8> {
        vec![self]
    }
}

impl Bits for u32 {
    fn bytes(self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }
}

impl Bits for u16 {
    fn bytes(self) -> Vec<u8> {
        self.to_be_bytes().to_vec()
    }
}

impl Bits for [u8; 6] {
    fn bytes(self) -> Vec<u8> {
        self.to_vec()
    }
}

impl Bits for Ipv4Addr {
    fn bytes(self) -> Vec<u8> {
        self.octets().to_vec()
    }
}

impl Bits for Ipv6Addr {
    fn bytes(self) -> Vec<u8> {
        self.octets().to_vec()
    }
}

/// A value, of which all bits are matched or those in a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masked<T> {
    value: T,
    mask: Option<T>,
}

impl<T> From<T> for Masked<T> {
    /// Matches all bits.
    fn from(value: T) -> Self {
        Self { value, mask: None }
    }
}

impl<T: Bits> Masked<T> {
    /// Matches the bits that `mask` has; other bits of `value` say nothing.
    pub const fn new(value: T, mask: T) -> Self {
        Self { value, mask: Some(mask) }
    }

    /// Whether a value has the matched bits.
    #[must_use]
    pub fn matches(self, value: T) -> bool {
        let (expected, mask) = self.encode();
        let mask = mask.into_iter().flatten().chain(std::iter::repeat(0xff));
        value.bytes().iter().zip(expected).zip(mask).all(|((found, expected), mask)| found & mask == expected)
    }

    /// The bits of value and mask; no mask if all are matched. A switch refuses bits of a value
    /// that are not in its mask.
    pub(super) fn encode(self) -> (Vec<u8>, Option<Vec<u8>>) {
        let value = self.value.bytes();
        let mask = self.mask.map(Bits::bytes).filter(|mask| mask.iter().any(|byte| *byte != 0xff));
        let Some(mask) = mask else { return (value, None) };
        (value.iter().zip(&mask).map(|(value, mask)| value & mask).collect(), Some(mask))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_outside_of_the_mask_are_cleared() {
        assert_eq!(Masked::from(7_u16).encode(), (vec![0, 7], None));
        assert_eq!(Masked::new(7_u16, 0xffff).encode(), (vec![0, 7], None));
        let network = Masked::new(Ipv4Addr::new(10, 9, 8, 7), Ipv4Addr::new(255, 255, 0, 0));
        assert_eq!(network.encode(), (vec![10, 9, 0, 0], Some(vec![255, 255, 0, 0])));
        assert!(network.matches(Ipv4Addr::new(10, 9, 1, 1)) && !network.matches(Ipv4Addr::new(10, 8, 8, 7)));
        assert!(Masked::from(7_u16).matches(7) && !Masked::from(7_u16).matches(263));
    }
}
