//! The table of frames.

use std::collections::BTreeSet;

const TABLE: &str = include_str!("../../testdata/guard/frames.txt");
const FRAGMENTS: &str = include_str!("../../testdata/guard/fragments.txt");
/// The MAC address that the other pods do not have: frames to it are flooded.
const BROADCAST: [u8; 6] = [0xff; 6];
/// Types of VLAN tags. The switch and the kernel remove some of them.
const TAGS: [[u8; 2]; 2] = [[0x81, 0], [0x88, 0xa8]];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) name: &'static str,
    /// Whether the guard of the port lets it through.
    pub(crate) is_own: bool,
    pub(crate) bytes: Vec<u8>,
}

impl Frame {
    fn parse(line: &'static str) -> Self {
        let [verdict, hexadecimal, name] = line.split('\t').collect::<Vec<_>>().try_into().expect("three columns");
        let digit = |at| u8::from_str_radix(&hexadecimal[at..at + 2], 16).expect("a byte");
        let bytes = (0..hexadecimal.len()).step_by(2).map(digit).collect();
        Self { name, is_own: verdict == "own", bytes }
    }

    pub(crate) fn source(&self) -> &[u8] {
        &self.bytes[6..12]
    }

    /// Whether it is for the switch itself, which forwards no such frame.
    pub(crate) fn is_for_switch(&self) -> bool {
        self.bytes.starts_with(&[0x01, 0x80, 0xc2, 0, 0])
    }
}

/// A frame without its VLAN tags, by which it is found again.
pub(crate) fn untagged(bytes: &[u8]) -> Vec<u8> {
    let (macs, mut rest) = bytes.split_at(12);
    while TAGS.iter().any(|tag| rest.starts_with(tag)) {
        rest = &rest[4..];
    }
    [macs, rest].concat()
}

/// All frames of the table, which differ also without tags.
pub(crate) fn all() -> Vec<Frame> {
    read(TABLE, 78)
}

/// Fragments, and frames with wrong lengths.
pub(crate) fn fragments() -> Vec<Frame> {
    read(FRAGMENTS, 22)
}

fn read(table: &'static str, count: usize) -> Vec<Frame> {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let frames: Vec<Frame> = rows.map(Frame::parse).collect();
    let untagged: BTreeSet<Vec<u8>> = frames.iter().map(|frame| untagged(&frame.bytes)).collect();
    assert_eq!((frames.len(), untagged.len()), (count, count));
    frames
}

pub(crate) fn forged() -> Vec<Frame> {
    all().into_iter().filter(|frame| !frame.is_own).collect()
}

pub(crate) fn named(name: &str) -> Frame {
    all().into_iter().find(|frame| frame.name == name).expect(name)
}

/// A broadcast of pod a that it may send, which is like no other one.
pub(crate) fn own_broadcast(number: u32) -> Frame {
    let mut frame = named("IPv4 own");
    frame.bytes[..6].copy_from_slice(&BROADCAST);
    let end = frame.bytes.len() - 4;
    frame.bytes[end..].copy_from_slice(&number.to_be_bytes());
    frame
}
