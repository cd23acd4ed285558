//! A program that writes to the disk of the records all the time, and waits for it.

use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Bytes before each `fsync`.
const BLOCK: usize = 4 << 20;
/// The file is written again from its start when it has this many blocks.
const BLOCKS: usize = 64;

/// Measures while the disk of this folder is busy.
pub(crate) fn beside<T>(folder: &Path, measure: impl FnOnce() -> T) -> T {
    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| write(folder, &end));
        let measured = measure();
        end.store(true, Ordering::Relaxed);
        measured
    })
}

fn write(folder: &Path, end: &AtomicBool) {
    let mut file = File::create(folder.join("busy")).expect("a file");
    let block = vec![7; BLOCK];
    for number in 0.. {
        if end.load(Ordering::Relaxed) {
            return;
        }
        if number % BLOCKS == 0 {
            file.rewind().expect("the start of the file");
        }
        file.write_all(&block).and_then(|()| file.sync_all()).expect("the disk takes it");
    }
}
