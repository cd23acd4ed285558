//! Ranges of ports, as values with masks.

use usnet_openflow::flow::Masked;

/// The fewest blocks of ports whose number is a power of two that together are a range: the first
/// port of each, and its mask.
pub(super) fn blocks(first: u16, last: u16) -> Vec<(u16, u16)> {
    let mut blocks = Vec::new();
    let (mut next, end) = (u32::from(first), u32::from(last));
    while next <= end {
        let mut size = 1_u32;
        // The next block is as large as its first port is aligned, and as the range has room.
        while next.is_multiple_of(size << 1) && next + (size << 1) - 1 <= end && size < 1 << 16 {
            size <<= 1;
        }
        let mask = u16::MAX - u16::try_from(size - 1).unwrap_or(u16::MAX);
        blocks.extend(u16::try_from(next).ok().map(|first| (first, mask)));
        next += size;
    }
    blocks
}

/// A block as a match; `None` for all ports.
pub(super) fn masked((first, mask): (u16, u16)) -> Option<Masked<u16>> {
    (mask != 0).then(|| Masked::new(first, mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_range_and_nothing_else() {
        assert_eq!(blocks(80, 80), [(80, 0xffff)]);
        assert_eq!(blocks(80, 83), [(80, 0xfffc)]);
        assert_eq!(blocks(0, u16::MAX), [(0, 0)]);
        assert_eq!(blocks(1, u16::MAX).len(), 16);
        for (first, last) in [(0, 0), (1, 6), (5, 5), (1, 65534), (30000, 32767), (65535, 65535), (3, 1000)] {
            let found = blocks(first, last);
            let contains = |port: u16| found.iter().filter(|(value, mask)| port & mask == *value).count();
            for port in 0..=u16::MAX {
                assert_eq!(contains(port), usize::from((first..=last).contains(&port)), "{port} of {first}-{last}");
            }
        }
    }
}
