//! The places of the entries.

use super::InvalidSegment;
use super::segment::{Header, Identity, Segment};
use std::collections::BTreeMap;

/// The size of an entry: its type (u32), 4 unused bytes, an address or two u32, and its name.
const ENTRY_SIZE: usize = 144;
const VALUE: usize = 8;
const NAME: usize = 16;

const VECTOR_OF_NUMBERS: u32 = 2;
const VECTOR_OF_COMBINED: u32 = 3;
const SYMLINK: u32 = 6;

/// The requested entries of one epoch.
#[derive(Debug)]
pub(super) struct Directory {
    identity: Identity,
    epoch: u64,
    places: BTreeMap<String, Place>,
    vectors: BTreeMap<u32, VectorAt>,
}

/// The place of a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// The position of the entry that has the vector.
    pub(super) entry: u32,
    /// The element, if the name stands for a single one.
    pub(super) column: Option<u32>,
}

/// The address of a vector with a vector for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VectorAt {
    pub(super) kind: VectorKind,
    pub(super) address: u64,
}

/// The elements of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VectorKind {
    Simple,
    /// Pairs of packets and bytes.
    Combined,
}

impl Directory {
    pub(super) fn read(
        segment: &Segment,
        header: &Header,
        is_wanted: fn(&str) -> bool,
    ) -> Result<Self, InvalidSegment> {
        let bytes = segment.vectors(header).read(header.directory, ENTRY_SIZE as u64)?;
        let entries: Vec<Entry<'_>> = bytes.chunks_exact(ENTRY_SIZE).map(Entry).collect();
        let (mut places, mut vectors) = (BTreeMap::new(), BTreeMap::new());
        for (position, entry) in (0..).zip(&entries) {
            let Some(name) = entry.name().filter(|name| is_wanted(name)) else { continue };
            let place = match entry.kind() {
                SYMLINK => {
                    let (entry, column) = entry.target();
                    Place { entry, column: Some(column) }
                }
                _ => Place { entry: position, column: None },
            };
            let target = usize::try_from(place.entry).ok().and_then(|target| entries.get(target));
            // Entries of other types have no counters, and later releases may have more types.
            let Some(vector) = target.and_then(Entry::vector) else { continue };
            vectors.insert(place.entry, vector);
            places.insert(name.to_owned(), place);
        }
        Ok(Self { identity: segment.identity(), epoch: header.epoch, places, vectors })
    }

    /// Whether the directory is that of this memory and epoch.
    pub(super) fn is_of(&self, segment: &Segment, header: &Header) -> bool {
        self.identity == segment.identity() && self.epoch == header.epoch
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn place(&self, name: &str) -> Option<Place> {
        self.places.get(name).copied()
    }

    /// Returns the vectors of all requested entries, by the positions of the entries.
    pub(super) fn vectors(&self) -> impl Iterator<Item = (u32, VectorAt)> {
        self.vectors.iter().map(|(entry, vector)| (*entry, *vector))
    }
}

/// The bytes of an entry.
struct Entry<'directory>(&'directory [u8]);

impl Entry<'_> {
    fn kind(&self) -> u32 {
        self.number(0)
    }

    /// Returns `None` if the name is not UTF-8.
    fn name(&self) -> Option<&str> {
        let field = self.0.get(NAME..)?;
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        std::str::from_utf8(field.get(..end)?).ok()
    }

    /// Returns the target of a symlink: an entry and an element.
    fn target(&self) -> (u32, u32) {
        (self.number(VALUE), self.number(VALUE + 4))
    }

    fn vector(&self) -> Option<VectorAt> {
        let kind = match self.kind() {
            VECTOR_OF_NUMBERS => VectorKind::Simple,
            VECTOR_OF_COMBINED => VectorKind::Combined,
            _ => return None,
        };
        let (low, high) = self.target();
        Some(VectorAt { kind, address: (u64::from(high) << 32) | u64::from(low) })
    }

    fn number(&self, start: usize) -> u32 {
        let bytes = self.0.get(start..start + 4).and_then(|bytes| bytes.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or_default())
    }
}
