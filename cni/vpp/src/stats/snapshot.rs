//! The counters of one time.

use super::InvalidSegment;
use super::directory::{Directory, VectorAt, VectorKind};
use super::segment::{Header, Segment, Vectors, numbers};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The size of a number, and of an address.
const NUMBER: u64 = 8;

/// A counter of packets and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Combined {
    pub packets: u64,
    pub bytes: u64,
}

/// Counters of one time, each summed over VPP's threads.
#[derive(Debug)]
pub struct Snapshot {
    directory: Arc<Directory>,
    /// The key is the position of an entry.
    vectors: BTreeMap<u32, Vector>,
}

#[derive(Debug)]
enum Vector {
    Simple(Vec<u64>),
    Combined(Vec<Combined>),
}

impl Snapshot {
    pub(super) fn read(segment: &Segment, header: &Header, directory: Arc<Directory>) -> Result<Self, InvalidSegment> {
        let mut memory = segment.vectors(header);
        let vectors = directory.vectors().map(|(entry, at)| Ok((entry, read_vector(&mut memory, at)?)));
        let vectors = vectors.collect::<Result<_, InvalidSegment>>()?;
        Ok(Self { directory, vectors })
    }

    pub(super) fn directory(&self) -> &Arc<Directory> {
        &self.directory
    }

    /// Returns the epoch, which increases with each change of the directory.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.directory.epoch()
    }

    /// Returns an element of a vector of numbers, for example that of an interface in `/if/drops`.
    /// For an entry that stands for a single element, the index does not matter. Returns `None` if
    /// there is no such entry or element.
    #[must_use]
    pub fn simple(&self, name: &str, index: u32) -> Option<u64> {
        match self.find(name, index)? {
            (Vector::Simple(numbers), index) => numbers.get(index).copied(),
            (Vector::Combined(_), _) => None,
        }
    }

    /// Works like [`Self::simple`] for a vector of packets and bytes, for example `/if/rx`.
    #[must_use]
    pub fn combined(&self, name: &str, index: u32) -> Option<Combined> {
        match self.find(name, index)? {
            (Vector::Combined(counters), index) => counters.get(index).copied(),
            (Vector::Simple(_), _) => None,
        }
    }

    fn find(&self, name: &str, index: u32) -> Option<(&Vector, usize)> {
        let place = self.directory.place(name)?;
        let index = usize::try_from(place.column.unwrap_or(index)).ok()?;
        Some((self.vectors.get(&place.entry)?, index))
    }
}

fn read_vector(memory: &mut Vectors<'_>, at: VectorAt) -> Result<Vector, InvalidSegment> {
    let threads = memory.read(at.address, NUMBER)?;
    let (mut simple, mut combined) = (Vec::new(), Vec::new());
    for address in numbers(&threads) {
        match at.kind {
            VectorKind::Simple => {
                let read = memory.read(address, NUMBER)?;
                add(&mut simple, numbers(&read), |sum, number| *sum = sum.wrapping_add(number));
            }
            VectorKind::Combined => {
                let read = memory.read(address, 2 * NUMBER)?;
                let (pairs, _) = read.as_chunks::<16>();
                let counters = pairs.iter().map(|pair| {
                    let mut both = numbers(pair);
                    Combined { packets: both.next().unwrap_or_default(), bytes: both.next().unwrap_or_default() }
                });
                add(&mut combined, counters, |sum, counter| {
                    sum.packets = sum.packets.wrapping_add(counter.packets);
                    sum.bytes = sum.bytes.wrapping_add(counter.bytes);
                });
            }
        }
    }
    Ok(match at.kind {
        VectorKind::Simple => Vector::Simple(simple),
        VectorKind::Combined => Vector::Combined(combined),
    })
}

/// Adds the elements of one thread. Their number may differ from that of other threads.
fn add<T: Default>(sums: &mut Vec<T>, of_thread: impl Iterator<Item = T>, add: impl Fn(&mut T, T)) {
    for (position, counter) in of_thread.enumerate() {
        match sums.get_mut(position) {
            Some(sum) => add(sum, counter),
            None => sums.push(counter),
        }
    }
}
