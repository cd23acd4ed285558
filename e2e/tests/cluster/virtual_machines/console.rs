//! What the serial console of a guest says, with the times of the container runtime: the same clock
//! as the test's.

use crate::support::cluster::{check, eventually, kubectl};
use k8s_openapi::jiff::Timestamp;
use std::time::Duration;

/// The serial console of a pod's guest, and what its QEMU says.
#[derive(Clone)]
pub(super) struct Console {
    pub(super) namespace: String,
    pub(super) pod: String,
}

/// The lost pings of a guest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outage {
    /// The longest time without an answer.
    pub(super) gap: Duration,
    /// The number of requests without a response.
    pub(super) lost: u64,
    /// The time of the answer that ended the longest gap.
    pub(super) over: Timestamp,
}

impl Console {
    /// Returns all lines, with their times.
    pub(super) fn lines(&self) -> Vec<(Timestamp, String)> {
        let text = kubectl(&["logs", &self.pod, "-n", &self.namespace, "--timestamps"]);
        let parse = |line: &str| {
            let (time, words) = line.split_once(' ')?;
            Some((time.parse().ok()?, words.trim().to_owned()))
        };
        text.lines().filter_map(parse).collect()
    }

    /// Waits for a line that contains these words, and gives it.
    #[track_caller]
    pub(super) fn await_line(&self, words: &str) -> (Timestamp, String) {
        eventually(&format!("the line {words:?} of {}", self.pod), || {
            let lines = self.lines();
            let found = lines.iter().find(|(_, line)| line.contains(words)).cloned();
            found.ok_or_else(|| lines.into_iter().map(|(_, line)| line + "\n").collect())
        })
    }

    /// Returns the number of boots of the guest in this QEMU.
    pub(super) fn boots(&self) -> usize {
        self.lines().iter().filter(|(_, line)| line.starts_with("guest: boot ")).count()
    }

    /// The answers to the guest's pings, by their numbers.
    pub(super) fn answers(&self) -> Vec<(Timestamp, u64)> {
        self.lines().into_iter().filter_map(|(time, line)| Some((time, sequence(&line)?))).collect()
    }

    /// Waits until pings are answered after `until`, and gives the outage since `since`.
    #[track_caller]
    pub(super) fn await_outage(&self, since: Timestamp, until: Timestamp) -> Outage {
        /// So many in a row are not those that were under way.
        const ANSWERS: usize = 10;
        let answers = eventually("answers to pings", || {
            let answers = self.answers();
            let after = answers.iter().filter(|(time, _)| *time > until).count();
            check(after >= ANSWERS, format!("{}: {after} answers since {until}", self.pod))?;
            Ok(answers)
        });
        let last = answers.iter().rposition(|(time, _)| *time <= since).unwrap_or_default();
        let pairs: Vec<_> = answers[last..].windows(2).map(|pair| (pair[0], pair[1])).collect();
        let lost = pairs.iter().map(|((_, before), (_, after))| after.saturating_sub(before + 1)).sum();
        let longest = pairs.iter().max_by_key(|((before, _), (after, _))| after.duration_since(*before)).unwrap();
        let ((before, _), (after, _)) = *longest;
        Outage { gap: Duration::try_from(after.duration_since(before)).unwrap_or_default(), lost, over: after }
    }
}

/// The number of an answer, in a line of busybox' ping.
fn sequence(line: &str) -> Option<u64> {
    line.split_once(" bytes from ")?.1.split_once("seq=")?.1.split_whitespace().next()?.parse().ok()
}
