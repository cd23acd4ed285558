//! What a test waits for, which the user is told: many nodes are tested at a time.

use crate::commands::shared::join_first;
use crate::output::{QUIET, tell};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often a line is printed although nothing has changed.
const AGAIN: Duration = Duration::from_secs(10);
/// The maximum number of subjects that are named.
const NAMED_MAX: usize = 5;

/// What each subject, which is a node or an engine, waits for and since when.
#[derive(Debug, Default)]
pub(super) struct Activities(RefCell<BTreeMap<String, (&'static str, Instant)>>);

impl Activities {
    /// Begins to wait until something holds, and ends the former wait of the subject.
    pub(super) fn begin(&self, subject: &str, until: &'static str) {
        self.0.borrow_mut().insert(subject.to_owned(), (until, Instant::now()));
    }

    pub(super) fn end(&self, subject: &str) {
        self.0.borrow_mut().remove(subject);
    }

    /// Tells the user of waits that are longer than [`QUIET`], as long as it is polled.
    pub(super) async fn tell(&self) -> Infallible {
        let (mut told, mut time) = (None, Instant::now());
        loop {
            sleep(QUIET).await;
            let text = self.text(Instant::now());
            if text.is_some() && (text != told || time.elapsed() >= AGAIN) {
                text.iter().for_each(tell);
                (told, time) = (text, Instant::now());
            }
        }
    }

    /// Returns what is waited for at a time.
    fn text(&self, now: Instant) -> Option<String> {
        let mut subjects: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (subject, (until, since)) in self.0.borrow().iter() {
            if now.duration_since(*since) >= QUIET {
                subjects.entry(until).or_default().push(subject.clone());
            }
        }
        let waits = subjects.iter().map(|(until, subjects)| format!("{until} ({})", join_first(subjects, NAMED_MAX)));
        let waits: Vec<_> = waits.collect();
        (!waits.is_empty()).then(|| format!("waiting until {}", waits.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_waits_are_named_and_subjects_with_the_same_are_together() {
        let activities = Activities::default();
        for node in ["OVS node-a", "OVS node-b"] {
            activities.begin(node, "pods run");
        }
        let now = Instant::now();
        assert_eq!(activities.text(now), None);
        let later = now + QUIET;
        assert_eq!(activities.text(later).unwrap(), "waiting until pods run (OVS node-a, OVS node-b)");
        activities.begin("OVS node-b", "frames arrive");
        activities.end("OVS node-a");
        assert_eq!(activities.text(later + QUIET).unwrap(), "waiting until frames arrive (OVS node-b)");
    }
}
