//! Numbered frames: broadcasts or unicasts with the ethertype for local experiments.

/// The size of an Ethernet header.
const ETHERNET: usize = 14;
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
const MARK: &[u8; 4] = b"usnt";
/// The Ethernet header is followed by mark, stream, number and size.
const HEADER: usize = ETHERNET + 4 + 8 + 4 + 4;
/// The size of the smallest Ethernet frame, without its checksum.
pub(crate) const SIZE_MIN: usize = 60;
const _: () = assert!(HEADER <= SIZE_MIN);

/// The header of a numbered frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered {
    /// All frames of one `send` have the same number here.
    pub(crate) stream: u64,
    /// The position in the stream, from 0.
    pub(crate) number: u32,
    /// Whether size and content are unchanged.
    pub(crate) intact: bool,
}

/// Returns a frame of `size` bytes, but at least [`SIZE_MIN`].
pub(crate) fn encode(from: [u8; 6], to: [u8; 6], stream: u64, number: u32, size: usize) -> Vec<u8> {
    let size = size.max(SIZE_MIN);
    let mut frame = Vec::with_capacity(size);
    frame.extend_from_slice(&to);
    frame.extend_from_slice(&from);
    frame.extend_from_slice(&ETHERTYPE);
    frame.extend_from_slice(MARK);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(&number.to_be_bytes());
    frame.extend_from_slice(&u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes());
    frame.extend((HEADER..size).map(|position| filling(number, position)));
    frame
}

/// Returns nothing for frames that are not numbered.
pub(crate) fn decode(frame: &[u8]) -> Option<Numbered> {
    let payload = frame.get(ETHERNET - 2..)?.strip_prefix(&ETHERTYPE)?.strip_prefix(MARK)?;
    let (stream, rest) = payload.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (size, content) = rest.split_first_chunk()?;
    let number = u32::from_be_bytes(*number);
    let is_as_sent = |(position, byte): (usize, &u8)| *byte == filling(number, position);
    let intact = u32::from_be_bytes(*size) as usize == frame.len() && (HEADER..).zip(content).all(is_as_sent);
    Some(Numbered { stream: u64::from_be_bytes(*stream), number, intact })
}

/// Returns a byte that differs between positions and between frames.
fn filling(number: u32, position: usize) -> u8 {
    (number as usize).wrapping_mul(31).wrapping_add(position).to_le_bytes()[0]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        for size in [0, 60, 64, 1500, 9000] {
            let frame = encode([2; 6], [0xff; 6], 7, 3, size);
            assert_eq!(frame.len(), size.max(SIZE_MIN));
            assert_eq!(decode(&frame), Some(Numbered { stream: 7, number: 3, intact: true }));
        }
    }

    #[test]
    fn changes_and_cuts_are_seen() {
        let frame = encode([2; 6], [0xff; 6], 7, 3, 64);
        assert!(!decode(&frame[..63]).unwrap().intact);
        let mut changed = frame;
        changed[63] ^= 1;
        assert!(!decode(&changed).unwrap().intact);
    }

    #[test]
    fn other_frames_are_not_taken() {
        let frame = encode([2; 6], [0xff; 6], 7, 3, 64);
        for length in 0..HEADER {
            assert_eq!(decode(&frame[..length]), None);
        }
        let mut other = frame;
        other[13] = 0xb6;
        assert_eq!(decode(&other), None);
    }
}
