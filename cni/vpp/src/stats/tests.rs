//! Memory in VPP's layout, valid and invalid.

use super::segment::Segment;
use super::*;
use proptest::prelude::{Strategy, any, proptest};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

const BASE: u64 = 0x7f00_0000_0000;
const SIZE: u64 = 1 << 20;
const EPOCH_AT: u64 = 16;
const IN_PROGRESS_AT: u64 = 24;

/// A memory that a test writes to.
struct Memory {
    file: File,
    end: u64,
}

impl Memory {
    /// Creates a memory with only a header of this version.
    fn new(version: u64) -> Self {
        let file = tempfile::tempfile().expect("a file");
        file.set_len(SIZE).expect("room");
        let memory = Self { file, end: 64 };
        memory.write(0, &[version, BASE, 1, 0, 0]);
        memory
    }

    fn write(&self, offset: u64, numbers: &[u64]) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.file.write_all_at(&bytes, offset).expect("a write");
    }

    /// Adds a vector. Returns its address.
    fn vector(&mut self, length: u64, numbers: &[u64]) -> u64 {
        let start = self.end;
        self.end += 8 * (1 + numbers.len() as u64);
        self.write(start, &[length]);
        self.write(start + 8, numbers);
        BASE + start + 8
    }

    /// Adds a directory of these entries: type, value and name.
    fn directory(&mut self, entries: &[(u64, u64, &str)]) {
        let start = self.end;
        self.end += 8 + 144 * entries.len() as u64;
        self.write(start, &[entries.len() as u64]);
        for (position, (kind, value, name)) in (0..).zip(entries) {
            let at = start + 8 + 144 * position;
            self.write(at, &[*kind, *value]);
            self.file.write_all_at(name.as_bytes(), at + 16).expect("a write");
        }
        self.write(32, &[BASE + start + 8]);
    }

    fn segment(&self) -> Segment {
        Segment::new(self.file.try_clone().expect("a copy")).expect("a segment")
    }
}

fn reader() -> Reader {
    Reader::new("/run/vpp/stats.sock", Duration::from_secs(1), |_| true)
}

#[test]
fn counters_are_summed_over_threads_of_any_length() {
    let mut memory = Memory::new(2);
    let threads = [memory.vector(2, &[10, 640, 3, 192]), memory.vector(1, &[1, 64]), 0];
    let rx = memory.vector(3, &threads);
    let threads = [memory.vector(2, &[5, 6]), memory.vector(3, &[1, 1, 9])];
    let errors = memory.vector(2, &threads);
    let entries = [
        (3, rx, "/if/rx"),
        (2, errors, "/node/errors"),
        (6, 1 | (2 << 32), "/err/memif0/0-tx/no_free_slots"),
        (6, 7, "/err/of an entry that is not there"),
        (1, 17, "/sys/heartbeat"),
        (99, 17, "/a type of a later release"),
        (5, 0, ""),
    ];
    memory.directory(&entries);
    let snapshot = reader().attempt(&memory.segment()).expect("good").expect("at rest");
    let combined = |packets, bytes| Some(Combined { packets, bytes });
    assert_eq!(snapshot.combined("/if/rx", 0), combined(11, 704));
    assert_eq!((snapshot.combined("/if/rx", 1), snapshot.combined("/if/rx", 2)), (combined(3, 192), None));
    assert_eq!((snapshot.simple("/node/errors", 0), snapshot.simple("/node/errors", 2)), (Some(6), Some(9)));
    assert_eq!(snapshot.simple("/err/memif0/0-tx/no_free_slots", 0), Some(9), "one element, whatever the index");
    for none in ["/err/of an entry that is not there", "/sys/heartbeat", "/a type of a later release", "", "/if/tx"] {
        assert_eq!((snapshot.simple(none, 0), snapshot.combined(none, 0)), (None, None), "{none}");
    }
    assert_eq!((snapshot.simple("/if/rx", 0), snapshot.combined("/node/errors", 0)), (None, None), "of the other kind");
}

#[test]
fn the_directory_is_read_once_in_an_epoch() {
    let mut memory = Memory::new(2);
    let threads = [memory.vector(1, &[5])];
    let drops = memory.vector(1, &threads);
    memory.directory(&[(2, drops, "/if/drops")]);
    let mut reader = reader();
    let mut read = |memory: &Memory| reader.attempt(&memory.segment()).expect("good").expect("at rest");
    assert_eq!(read(&memory).simple("/if/drops", 0), Some(5));
    memory.write(32, &[0]);
    memory.write(threads[0] - BASE, &[6]);
    let second = read(&memory);
    assert_eq!((second.simple("/if/drops", 0), second.epoch()), (Some(6), 1), "numbers are read again");
    memory.write(EPOCH_AT, &[2]);
    assert_eq!(read(&memory).simple("/if/drops", 0), None, "the directory of the new epoch is empty");
}

#[test]
fn another_version_is_named_with_the_one_that_is_read() {
    let error = reader().attempt(&Memory::new(3).segment()).expect_err("another version").to_string();
    assert!(error.contains("version 3") && error.contains("version 2") && error.contains("26.06"), "{error}");
}

#[test]
fn nothing_is_read_while_vpp_changes_entries() {
    let memory = Memory::new(2);
    memory.write(IN_PROGRESS_AT, &[1]);
    assert!(reader().attempt(&memory.segment()).expect("good").is_none());
}

#[test]
fn an_address_outside_is_an_error() {
    let mut memory = Memory::new(2);
    for (address, what) in [(1, "before the memory"), (BASE + SIZE + 4, "behind it"), (u64::MAX, "far away")] {
        let drops = memory.vector(1, &[address]);
        memory.directory(&[(2, drops, "/if/drops")]);
        let error = reader().attempt(&memory.segment()).expect_err(what);
        assert!(matches!(error, StatsError::Invalid { .. }), "{what}: {error}");
    }
    let long = memory.vector(u64::from(u32::MAX), &[0]);
    memory.directory(&[(3, long, "/if/rx")]);
    reader().attempt(&memory.segment()).expect_err("longer than the memory");
    let itself = memory.vector(100, &[0; 100]);
    let many = vec![itself; 2000];
    let many = memory.vector(2000, &many);
    memory.directory(&[(2, many, "/if/drops")]);
    reader().attempt(&memory.segment()).expect_err("vectors that overlap");
}

#[test]
fn an_unused_or_missing_socket_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut reader = Reader::new(folder.path().join("stats.sock"), Duration::from_millis(50), |_| true);
    assert!(matches!(reader.read(), Err(StatsError::Connect { .. })));
    let _listener = listen(reader.socket());
    let StatsError::Connect { source, .. } = reader.read().expect_err("no answer") else { panic!() };
    assert_eq!(source.kind(), std::io::ErrorKind::TimedOut);
}

/// Returns a socket at which no connection is accepted.
fn listen(path: &Path) -> std::os::fd::OwnedFd {
    let socket = rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::SEQPACKET, None);
    let socket = socket.expect("a socket");
    rustix::net::bind(&socket, &rustix::net::SocketAddrUnix::new(path).expect("a path")).expect("bound");
    rustix::net::listen(&socket, 1).expect("listening");
    socket
}

/// Returns words that are likely to be numbers, addresses and types of the layout.
fn words() -> impl Strategy<Value = Vec<u64>> {
    let word = proptest::prop_oneof![
        3 => 0..16_u64,
        3 => (0..2048_u64).prop_map(|offset| BASE + offset),
        1 => any::<u64>(),
        1 => (0..16_u64, 0..16_u64).prop_map(|(low, high)| low | (high << 32)),
    ];
    proptest::collection::vec(word, 0..256)
}

proptest! {
    #[test]
    fn random_memory_never_panics(mut words in words(), has_header in any::<bool>()) {
        if let (true, Some(header)) = (has_header, words.first_chunk_mut::<5>()) {
            let [_, _, _, _, directory] = *header;
            *header = [2, BASE, 1, 0, directory];
        }
        let file = tempfile::tempfile().expect("a file");
        let memory = Memory { file, end: 0 };
        memory.write(0, &words);
        let mut reader = reader();
        let first = reader.attempt(&memory.segment());
        if let Ok(Some(snapshot)) = first {
            let _any = (snapshot.simple("", 0), snapshot.combined("", 0), snapshot.epoch());
            assert!(reader.attempt(&memory.segment()).is_ok(), "nothing has changed");
        }
    }
}

/// Rows of `/if/rx` and `/if/drops` by interface, which grow as in VPP. After a while they start
/// again with a few rows, unlike in VPP, so that no change takes long.
struct Growing {
    memory: Memory,
    epoch: u64,
}

impl Growing {
    /// Returns the number of rows.
    fn rows(epoch: u64) -> u64 {
        1 + epoch % 64
    }

    /// Returns the place of a vector: one of two, so that the memory of a former vector is used
    /// again.
    fn place(which: u64, epoch: u64) -> u64 {
        (1 << 12) + (which << 17) + ((epoch % 2) << 16)
    }

    /// Adds a row to each vector, as VPP does it.
    fn grow(&mut self) {
        let memory = &self.memory;
        memory.write(IN_PROGRESS_AT, &[1]);
        self.epoch += 1;
        let rows = Self::rows(self.epoch);
        for which in 0..2 {
            let (place, left) = (Self::place(which, self.epoch), Self::place(which, self.epoch - 1));
            let width = 2 - which;
            let numbers: Vec<u64> = (0..rows)
                .flat_map(|row| [row + 1, 64 * (row + 1)].into_iter().take(usize::try_from(width).expect("small")))
                .collect();
            // There is one thread.
            memory.write(2048 + 64 * which, &[1, BASE + place + 8]);
            memory.write(place + 8, &numbers);
            memory.write(place, &[rows]);
            memory.write(left, &[u64::MAX / 3; 128]);
        }
        memory.write(EPOCH_AT, &[self.epoch]);
        memory.write(IN_PROGRESS_AT, &[0]);
    }
}

#[test]
fn a_segment_that_grows_is_never_read_half() {
    let mut memory = Memory::new(2);
    memory.directory(&[(3, BASE + 2048 + 8, "/if/rx"), (2, BASE + 2048 + 64 + 8, "/if/drops")]);
    let segment = memory.segment();
    let mut growing = Growing { memory, epoch: 0 };
    growing.grow();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while growing.epoch < 2000 {
                growing.grow();
                // The pause is long enough that some readings end before the next change, and short
                // enough that others meet it.
                std::thread::sleep(Duration::from_micros(growing.epoch % 100));
            }
            is_done.store(true, Ordering::Release);
        });
        let (mut reader, mut epochs) = (reader(), std::collections::BTreeSet::new());
        while !is_done.load(Ordering::Acquire) {
            let Some(snapshot) = reader.attempt(&segment).expect("never invalid") else { continue };
            epochs.insert(snapshot.epoch());
            let rows = u32::try_from(Growing::rows(snapshot.epoch())).expect("small");
            // A few rows are checked, so that most of the time is spent on reading.
            for row in [0, rows / 2, rows - 1] {
                let expected = u64::from(row) + 1;
                let combined = Combined { packets: expected, bytes: 64 * expected };
                assert_eq!(snapshot.combined("/if/rx", row), Some(combined), "row {row} of {rows}");
                assert_eq!(snapshot.simple("/if/drops", row), Some(expected), "row {row} of {rows}");
            }
            assert_eq!((snapshot.combined("/if/rx", rows), snapshot.simple("/if/drops", rows)), (None, None));
        }
        assert!(epochs.len() > 1, "it did not grow meanwhile");
    });
}
