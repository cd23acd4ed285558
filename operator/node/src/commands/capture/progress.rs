//! What a capture tells its user while it runs: an interface without frames looks like a program
//! that hangs. Pure.

use std::time::{Duration, Instant};

/// How often a line is printed.
const INTERVAL: Duration = Duration::from_secs(5);

/// The progress of a capture.
#[derive(Debug)]
pub(super) struct Progress {
    start: Instant,
    next: Instant,
}

impl From<Instant> for Progress {
    /// The progress of a capture that starts now.
    fn from(start: Instant) -> Self {
        Self { start, next: start + INTERVAL }
    }
}

impl Progress {
    /// Returns the next line once it is due.
    pub(super) fn line(&mut self, frames: u64, now: Instant) -> Option<String> {
        if now < self.next {
            return None;
        }
        self.next = now + INTERVAL;
        Some(format!("{} s, {frames} frames; Ctrl-C ends", now.duration_since(self.start).as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_every_five_seconds() {
        let start = Instant::now();
        let mut progress = Progress::from(start);
        let mut at = |milliseconds| progress.line(7, start + Duration::from_millis(milliseconds));
        assert_eq!(at(4999), None);
        assert_eq!(at(5100).unwrap(), "5 s, 7 frames; Ctrl-C ends");
        assert_eq!(at(9000), None);
        assert_eq!(at(12_000).unwrap(), "12 s, 7 frames; Ctrl-C ends");
    }
}
