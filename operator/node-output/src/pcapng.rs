//! The file format pcapng (draft-ietf-opsawg-pcapng), as far as a capture of one interface needs
//! it. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The types of blocks.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;

const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The length of a section is not known in advance.
const UNKNOWN_LENGTH: u64 = u64::MAX;
const ETHERNET: u16 = 1;

/// The codes of options.
const END: u16 = 0;
const IF_NAME: u16 = 2;
const IF_TIME_RESOLUTION: u16 = 9;
const IF_RECEIVED: u16 = 4;
const IF_DROPPED: u16 = 5;
/// Times are in units of 10⁻⁹ s.
const NANOSECONDS: u8 = 9;

/// The start of a file: the section, and its only interface. Parts of frames beyond `snaplen` are
/// not in the file; 0 is no limit.
pub fn header(interface: &str, snaplen: u32) -> Vec<u8> {
    let mut section = Vec::new();
    section.extend(BYTE_ORDER.to_le_bytes());
    section.extend([1_u16, 0].map(u16::to_le_bytes).concat());
    section.extend(UNKNOWN_LENGTH.to_le_bytes());
    let mut description = Vec::new();
    description.extend([ETHERNET, 0].map(u16::to_le_bytes).concat());
    description.extend(snaplen.to_le_bytes());
    option(&mut description, IF_NAME, interface.as_bytes());
    option(&mut description, IF_TIME_RESOLUTION, &[NANOSECONDS]);
    option(&mut description, END, &[]);
    let mut file = Vec::new();
    block(&mut file, SECTION, &section);
    block(&mut file, INTERFACE, &description);
    file
}

/// Appends a frame that has `length` bytes, of which `bytes` are known.
pub fn packet(file: &mut Vec<u8>, time: SystemTime, bytes: &[u8], length: usize) {
    let mut content = Vec::with_capacity(bytes.len() + 24);
    content.extend(0_u32.to_le_bytes());
    content.extend(timestamp(time));
    content.extend(number(bytes.len()).to_le_bytes());
    content.extend(number(length).to_le_bytes());
    content.extend(bytes);
    block(file, PACKET, &content);
}

/// Appends how many frames were received, and how many of them are not in the file, if known.
pub fn statistics(file: &mut Vec<u8>, time: SystemTime, received: u64, lost: Option<u64>) {
    let mut content = Vec::new();
    content.extend(0_u32.to_le_bytes());
    content.extend(timestamp(time));
    option(&mut content, IF_RECEIVED, &received.saturating_add(lost.unwrap_or_default()).to_le_bytes());
    if let Some(lost) = lost {
        option(&mut content, IF_DROPPED, &lost.to_le_bytes());
    }
    option(&mut content, END, &[]);
    block(file, STATISTICS, &content);
}

/// The upper half comes first.
fn timestamp(time: SystemTime) -> [u8; 8] {
    let nanoseconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos();
    let nanoseconds = u64::try_from(nanoseconds).unwrap_or(u64::MAX);
    let [a, b, c, d, e, f, g, h] = nanoseconds.to_le_bytes();
    [e, f, g, h, a, b, c, d]
}

fn option(content: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    content.extend(code.to_le_bytes());
    content.extend(u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
    content.extend(value);
    pad(content);
}

fn block(file: &mut Vec<u8>, kind: u32, content: &[u8]) {
    let padded = content.len().next_multiple_of(4);
    let length = number(padded + 12).to_le_bytes();
    file.extend(kind.to_le_bytes());
    file.extend(length);
    file.extend(content);
    file.resize(file.len() + padded - content.len(), 0);
    file.extend(length);
}

fn pad(content: &mut Vec<u8>) {
    content.resize(content.len().next_multiple_of(4), 0);
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block: its type and its content.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let length = word(&file[4..]) as usize;
            assert_eq!(length % 4, 0);
            assert_eq!(word(&file[length - 4..]) as usize, length, "the length is at both ends");
            blocks.push((word(file), file[8..length - 4].to_vec()));
            file = &file[length..];
        }
        blocks
    }

    /// The frames of a file: the known bytes, and the length.
    fn packets(file: &[u8]) -> Vec<(Vec<u8>, usize)> {
        let packets = blocks(file).into_iter().filter(|(kind, _)| *kind == PACKET);
        let word = |content: &[u8], at: usize| u32::from_le_bytes(content[at..at + 4].try_into().unwrap()) as usize;
        packets.map(|(_, content)| (content[20..20 + word(&content, 12)].to_vec(), word(&content, 16))).collect()
    }

    #[test]
    fn a_file_has_one_interface_its_frames_and_what_was_lost() {
        let mut file = header("web/dpdk-0 net1", 60);
        let time = UNIX_EPOCH + Duration::from_nanos(0x1122_3344_5566_7788);
        packet(&mut file, time, &[1, 2, 3, 4, 5], 64);
        packet(&mut file, time, &[9; 8], 8);
        statistics(&mut file, time, 2, Some(3));
        let blocks = blocks(&file);
        assert_eq!(
            blocks.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [SECTION, INTERFACE, PACKET, PACKET, STATISTICS]
        );
        assert_eq!(file[8..12], [0x4d, 0x3c, 0x2b, 0x1a]);
        let description = &blocks[1].1;
        assert_eq!(description[..8], [1, 0, 0, 0, 60, 0, 0, 0]);
        assert_eq!(description[8..27], [&[2, 0, 15, 0][..], b"web/dpdk-0 net1"].concat());
        assert_eq!(description[28..33], [9, 0, 1, 0, 9], "nanoseconds");
        assert_eq!(blocks[2].1[4..12], [0x44, 0x33, 0x22, 0x11, 0x88, 0x77, 0x66, 0x55]);
        assert_eq!(packets(&file), [(vec![1, 2, 3, 4, 5], 64), (vec![9; 8], 8)]);
        assert_eq!(blocks[4].1[12..16], [4, 0, 8, 0]);
        assert_eq!((blocks[4].1[16], blocks[4].1[28]), (5, 3), "received, and lost of them");
    }
}
