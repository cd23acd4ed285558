//! Counts of received numbered frames.

use crate::numbered::Numbered;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Beyond this number, the oldest stream is forgotten.
const STREAMS_MAX: usize = 64;
/// Numbers from this one on count as damaged, which limits the memory of a stream to 2 MiB.
const NUMBER_MAX: u32 = 1 << 24;

#[derive(Debug, Default)]
struct Stream {
    /// Has a bit for each number that was received.
    seen: Vec<u64>,
    counts: Counts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Frames with different numbers.
    pub(crate) received: u32,
    /// Frames whose number was received before.
    pub(crate) duplicates: u32,
    /// Frames whose size or content has changed.
    pub(crate) damaged: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Streams {
    streams: BTreeMap<u64, Stream>,
    order: VecDeque<u64>,
}

impl Streams {
    pub(crate) fn count(&mut self, frame: Numbered) {
        if !self.streams.contains_key(&frame.stream) {
            self.order.push_back(frame.stream);
            if self.order.len() > STREAMS_MAX {
                self.order.pop_front().map(|oldest| self.streams.remove(&oldest));
            }
        }
        self.streams.entry(frame.stream).or_default().count(frame);
    }

    pub(crate) fn counts(&self, stream: u64) -> Counts {
        self.streams.get(&stream).map(|stream| stream.counts).unwrap_or_default()
    }
}

impl Stream {
    fn count(&mut self, Numbered { number, intact, .. }: Numbered) {
        if !intact || number >= NUMBER_MAX {
            self.counts.damaged += 1;
            return;
        }
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let Some(word) = self.seen.get_mut(word) else { return };
        if *word & bit == 0 {
            *word |= bit;
            self.counts.received += 1;
        } else {
            self.counts.duplicates += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_once_and_copies_apart() {
        let mut streams = Streams::default();
        for number in [0, 1, 5, 1, 1000, 1000] {
            streams.count(Numbered { stream: 1, number, intact: true });
        }
        streams.count(Numbered { stream: 1, number: 6, intact: false });
        streams.count(Numbered { stream: 1, number: u32::MAX, intact: true });
        assert_eq!(streams.counts(1), Counts { received: 4, duplicates: 2, damaged: 2 });
        assert_eq!(streams.counts(2), Counts::default());
    }

    #[test]
    fn the_oldest_stream_is_forgotten() {
        let mut streams = Streams::default();
        for stream in 0..=STREAMS_MAX as u64 {
            streams.count(Numbered { stream, number: 0, intact: true });
        }
        assert_eq!(streams.counts(0).received, 0);
        assert_eq!(streams.counts(1).received, 1);
    }
}
