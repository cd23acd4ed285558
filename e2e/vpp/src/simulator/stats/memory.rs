//! Shared memory with entries and vectors in VPP's layout (`vlib/stats/shared.h`, version 2), and
//! changed in VPP's way.

use rustix::fs::{MemfdFlags, memfd_create};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The address of the memory in VPP's process.
const BASE: u64 = 0x7fba_0000_0000;
/// The size in the `startup.conf` of tests.
const SIZE: u64 = 32 << 20;
const VERSION: u64 = 2;
const EPOCH_AT: u64 = 16;
const IN_PROGRESS_AT: u64 = 24;
const DIRECTORY_AT: u64 = 32;
/// The first vector is in the second page.
const FIRST: u64 = 4096;
const ENTRY_SIZE: u64 = 144;
const NAME_SIZE: usize = 128;
/// The number of threads that count: the main thread and a worker.
pub(super) const THREADS: u64 = 2;

/// VPP's numbers for the kinds of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Scalar = 1,
    Simple = 2,
    Combined = 3,
    Empty = 5,
    Symlink = 6,
}

/// A vector in the memory.
#[derive(Debug, Clone, Copy, Default)]
struct Vector {
    /// The offset of the length, which is followed by the elements.
    offset: u64,
    length: u64,
    capacity: u64,
}

/// The memory, with the places of its entries and vectors.
#[derive(Debug)]
pub(super) struct Memory {
    file: File,
    end: u64,
    epoch: u64,
    directory: Vector,
    names: BTreeMap<String, u64>,
    free: Vec<u64>,
    /// The key is entry and thread. The number is the size of an element.
    vectors: BTreeMap<(u64, u64), (Vector, u64)>,
}

impl Memory {
    pub(super) fn create() -> io::Result<Self> {
        let file = File::from(memfd_create("stat segment", MemfdFlags::CLOEXEC)?);
        file.set_len(SIZE)?;
        let mut memory = Self {
            file,
            end: FIRST,
            epoch: 1,
            directory: Vector::default(),
            names: BTreeMap::new(),
            free: Vec::new(),
            vectors: BTreeMap::new(),
        };
        memory.write(0, &[VERSION, BASE, memory.epoch, 0, 0]);
        memory.directory = memory.resized(Vector::default(), 0, ENTRY_SIZE);
        Ok(memory)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Changes entries. Readers see that a change is in progress.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Self)) {
        self.write(IN_PROGRESS_AT, &[1]);
        change(self);
        self.epoch += 1;
        self.write(EPOCH_AT, &[self.epoch]);
        self.write(IN_PROGRESS_AT, &[0]);
    }

    /// Adds an entry with its value. Returns its position.
    pub(super) fn add(&mut self, name: &str, kind: Kind, value: u64) -> u64 {
        let position = self.free.pop().unwrap_or(self.directory.length);
        if position == self.directory.length {
            self.directory = self.resized(self.directory, position + 1, ENTRY_SIZE);
            self.write(DIRECTORY_AT, &[self.directory.address()]);
        }
        let offset = self.entry(position);
        let mut text = [0; NAME_SIZE];
        // VPP cuts longer names as well.
        text.iter_mut().zip(name.bytes().take(NAME_SIZE - 1)).for_each(|(byte, of_name)| *byte = of_name);
        self.write(offset, &[kind as u64, value]);
        self.write_bytes(offset + 16, &text);
        self.names.insert(name.to_owned(), position);
        position
    }

    /// Adds an entry with a vector for each thread.
    pub(super) fn add_vector(&mut self, name: &str, kind: Kind) -> u64 {
        let threads = self.resized(Vector::default(), THREADS, 8);
        let position = self.add(name, kind, threads.address());
        let element = if kind == Kind::Combined { 16 } else { 8 };
        for thread in 0..THREADS {
            self.vectors.insert((position, thread), (Vector::default(), element));
        }
        position
    }

    /// Removes an entry. The next new entry takes its place.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(position) = self.names.remove(name) {
            let offset = self.entry(position);
            self.write_bytes(offset, &[0; ENTRY_SIZE as usize]);
            self.write(offset, &[Kind::Empty as u64]);
            self.free.push(position);
        }
    }

    pub(super) fn position(&self, name: &str) -> Option<u64> {
        self.names.get(name).copied()
    }

    pub(super) fn value(&self, position: u64) -> u64 {
        self.read(self.entry(position) + 8)
    }

    /// Extends the vectors of an entry to this element, and sets the element to 0.
    pub(super) fn clear(&mut self, entry: u64, index: u64) {
        for thread in 0..THREADS {
            let Some((vector, element)) = self.vectors.get(&(entry, thread)).copied() else { continue };
            if index >= vector.length {
                let longer = self.resized(vector, index + 1, element);
                self.vectors.insert((entry, thread), (longer, element));
                let threads = self.threads(entry);
                self.write(threads + 8 * thread, &[longer.address()]);
            }
            let zeros = [0; 2];
            self.write(self.element(entry, thread, index), zeros.get(..element as usize / 8).unwrap_or_default());
        }
    }

    /// Adds to an element of one thread.
    pub(super) fn count(&mut self, entry: u64, thread: u64, index: u64, numbers: &[u64]) {
        let offset = self.element(entry, thread, index);
        for (place, number) in (0..).zip(numbers) {
            let at = offset + 8 * place;
            self.write(at, &[self.read(at).wrapping_add(*number)]);
        }
    }

    /// Returns a vector with more elements, which is moved if it does not fit. Its former memory is
    /// overwritten, because VPP reuses such memory.
    fn resized(&mut self, vector: Vector, length: u64, element: u64) -> Vector {
        let mut resized = Vector { length, ..vector };
        if length > vector.capacity || vector.capacity == 0 {
            resized.capacity = (2 * length).max(4);
            resized.offset = self.end;
            self.end += (8 + resized.capacity * element).next_multiple_of(64);
            let mut bytes = vec![0; usize::try_from(vector.length * element).unwrap_or_default()];
            let _read = self.file.read_exact_at(&mut bytes, vector.offset + 8);
            self.write_bytes(resized.offset + 8, &bytes);
            bytes.fill(0xdb);
            if vector.capacity > 0 {
                self.write_bytes(vector.offset, &bytes);
            }
        }
        self.write(resized.offset, &[length]);
        resized
    }

    fn entry(&self, position: u64) -> u64 {
        self.directory.offset + 8 + ENTRY_SIZE * position
    }

    /// Returns the offset of the addresses of an entry's vectors.
    fn threads(&self, entry: u64) -> u64 {
        self.value(entry).wrapping_sub(BASE)
    }

    fn element(&self, entry: u64, thread: u64, index: u64) -> u64 {
        let found = self.vectors.get(&(entry, thread)).copied();
        // A missing element is at the end of the memory, where nothing is written.
        found
            .filter(|(vector, _)| index < vector.length)
            .map_or(SIZE, |(vector, element)| vector.offset + 8 + index * element)
    }

    fn read(&self, offset: u64) -> u64 {
        let mut bytes = [0; 8];
        let _none_at_the_end = self.file.read_exact_at(&mut bytes, offset);
        u64::from_le_bytes(bytes)
    }

    fn write(&self, offset: u64, numbers: &[u64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.write_bytes(offset, &bytes);
    }

    fn write_bytes(&self, offset: u64, bytes: &[u8]) {
        if offset + bytes.len() as u64 <= SIZE {
            let _memory = self.file.write_all_at(bytes, offset);
        }
    }
}

impl Vector {
    const fn address(self) -> u64 {
        BASE + self.offset + 8
    }
}
