//! Runs of addresses, as numbers.

use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// All addresses from one to another, both included; empty when the first is after the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    is_ipv4: bool,
    start: u128,
    end: u128,
}

const fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits() as u128,
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl Interval {
    /// The addresses of a subnet that interfaces can have. IPv6 has no broadcasts.
    pub(super) fn hosts_of(subnet: &IpNet) -> Self {
        let is_ipv4 = subnet.addr().is_ipv4();
        let last = number(subnet.broadcast());
        Self {
            is_ipv4,
            start: number(subnet.network()).saturating_add(1),
            end: if is_ipv4 { last.saturating_sub(1) } else { last },
        }
    }

    /// The part from one address to another.
    pub(super) fn between(self, first: Option<IpAddr>, last: Option<IpAddr>) -> Self {
        let start = first.map_or(self.start, |first| number(first).max(self.start));
        let end = last.map_or(self.end, |last| number(last).min(self.end));
        Self { start, end, ..self }
    }

    /// The number of addresses with a prefix of this length.
    pub(super) const fn block_size(self, prefix: u8) -> u128 {
        let bits: u8 = if self.is_ipv4 { 32 } else { 128 };
        match 1_u128.checked_shl(bits.saturating_sub(prefix) as u32) {
            Some(size) => size,
            None => u128::MAX,
        }
    }

    /// How many blocks of this size the interval has a part of.
    pub(super) const fn blocks(self, size: u128) -> u128 {
        if self.is_empty() { 0 } else { self.end / size - self.start / size + 1 }
    }

    /// The part that the interval has of the block with this index.
    pub(super) fn block(self, index: u128, size: u128) -> Option<Self> {
        if index >= self.blocks(size) {
            return None;
        }
        let first = (self.start / size + index) * size;
        Some(Self { start: first.max(self.start), end: (first + (size - 1)).min(self.end), ..self })
    }

    /// The intervals that are left without these addresses.
    pub(super) fn without(self, addresses: impl Iterator<Item = IpAddr>) -> Vec<Self> {
        let mut taken: Vec<u128> = addresses
            .filter(|address| address.is_ipv4() == self.is_ipv4)
            .map(number)
            .filter(|it| self.has(*it))
            .collect();
        taken.sort_unstable();
        let (mut rest, mut start) = (Vec::new(), self.start);
        for address in taken {
            // It may occur twice, and `start` is behind it then.
            if address > start {
                rest.push(Self { start, end: address - 1, ..self });
            }
            if address == self.end {
                return rest;
            }
            start = start.max(address + 1);
        }
        rest.push(Self { start, ..self });
        rest.retain(|run| !run.is_empty());
        rest
    }

    pub(super) fn first(self) -> Option<IpAddr> {
        (!self.is_empty()).then(|| self.address(self.start)).flatten()
    }

    pub(super) fn last(self) -> Option<IpAddr> {
        (!self.is_empty()).then(|| self.address(self.end)).flatten()
    }

    const fn is_empty(self) -> bool {
        self.start > self.end
    }

    const fn has(self, number: u128) -> bool {
        self.start <= number && number <= self.end
    }

    fn address(self, number: u128) -> Option<IpAddr> {
        match self.is_ipv4 {
            true => u32::try_from(number).ok().map(|bits| Ipv4Addr::from_bits(bits).into()),
            false => Some(Ipv6Addr::from_bits(number).into()),
        }
    }
}
