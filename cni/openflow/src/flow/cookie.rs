//! Cookies of flows, by which a client finds its own ones and those that differ.

use super::{Action, Match};
use crate::PortNumber;

/// FNV-1a with 32 bits, which is the same in each version of the program.
const FNV_OFFSET: u32 = 0x811c_9dc5;
const FNV_PRIME: u32 = 0x0100_0193;

/// The owner's mark in 16 bits, the number of the port that the flow is about in 16 bits, and a
/// hash of match and instructions in 32 bits. The hash stands for the match: Open vSwitch 3.1 reads
/// some matches back without a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cookie(pub u64);

impl Cookie {
    #[must_use]
    pub fn new(mark: u16, port: PortNumber, matches: &Match, action: &Action) -> Self {
        Self::with(mark, port.number(), matches, action)
    }

    /// That of a flow that is about no port, or about several.
    #[must_use]
    pub fn of_bridge(mark: u16, matches: &Match, action: &Action) -> Self {
        Self::with(mark, 0, matches, action)
    }

    fn with(mark: u16, port: u16, matches: &Match, action: &Action) -> Self {
        let bytes = [matches.encode().bytes(), action.encode().bytes()].concat();
        let hash = bytes.iter().fold(FNV_OFFSET, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(FNV_PRIME));
        Self(u64::from(mark) << 48 | u64::from(port) << 32 | u64::from(hash))
    }

    /// Whose flow it is.
    #[must_use]
    pub const fn mark(self) -> u16 {
        let [a, b, ..] = self.0.to_be_bytes();
        u16::from_be_bytes([a, b])
    }

    /// The port that the flow is about; none if there is no such one, or if this is the cookie of
    /// another client.
    #[must_use]
    pub const fn port(self) -> Option<PortNumber> {
        let [_, _, a, b, ..] = self.0.to_be_bytes();
        PortNumber::new(u16::from_be_bytes([a, b]))
    }
}

/// A selection of cookies, by those of their bits that are in a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CookieFilter {
    pub(crate) value: u64,
    pub(crate) mask: u64,
}

impl CookieFilter {
    /// Any cookie.
    pub const ANY: Self = Self { value: 0, mask: 0 };

    /// Exactly this cookie.
    #[must_use]
    pub const fn of(cookie: Cookie) -> Self {
        Self { value: cookie.0, mask: u64::MAX }
    }

    /// Cookies with this mark.
    #[must_use]
    pub const fn of_mark(mark: u16) -> Self {
        Self { value: (mark as u64) << 48, mask: 0xffff << 48 }
    }

    /// Cookies with this mark of flows about a port.
    #[must_use]
    pub const fn of_port(mark: u16, port: PortNumber) -> Self {
        Self { value: (mark as u64) << 48 | (port.number() as u64) << 32, mask: 0xffff_ffff << 32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Output;

    #[test]
    fn a_cookie_is_the_same_in_each_version() {
        let port = PortNumber::new(0x102).unwrap();
        let matches = Match { in_port: Some(port), ..Match::default() };
        let cookie = Cookie::new(0x7573, port, &matches, &Action::Drop);
        assert_eq!(format!("{:016x}", cookie.0), "75730102ac924a96");
        assert_eq!((cookie.mark(), cookie.port()), (0x7573, Some(port)));
        assert_ne!(cookie, Cookie::new(0x7573, port, &matches, &Action::Output(Output::Normal)));
        let filter = CookieFilter::of_port(0x7573, port);
        assert_eq!((filter.value, filter.mask), (0x7573_0102_0000_0000, 0xffff_ffff_0000_0000));
    }
}
