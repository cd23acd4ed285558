//! Targets that may not be written now: a request is in flight, the watch does not show its result
//! yet, or it failed recently. So nothing is written twice, and failures are retried with back-off.
//! Pure; time is passed in.

use super::target::Target;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::time::Instant;
use usnet_common::backoff::Backoff;

/// How long the watch may take to show a write. After that the target is evaluated again, even
/// without an event: a write could otherwise be lost when its event never comes. An event that is
/// only late costs one redundant write.
const WATCH_TIMEOUT: Duration = Duration::from_secs(30);
/// The first delay of a retry: a conflict with another writer is usually over by then.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// The maximum delay of a retry, and so the longest wait of a user after a fault was corrected. A
/// shorter one would send failing requests more often.
const LONGEST_RETRY: Duration = Duration::from_secs(30);
/// The version of a deleted object: later than any other.
pub const DELETED: u64 = u64::MAX;

/// A write that the watch does not show yet.
#[derive(Debug, Clone, Copy)]
struct Sent {
    /// The resulting resourceVersion; 0 after a deletion, which any event confirms.
    version: u64,
    at: Instant,
}

/// Targets that may not be written now.
#[derive(Debug, Default)]
pub struct Guards {
    /// With the highest resourceVersion observed since.
    in_flight: BTreeMap<Target, u64>,
    sent: BTreeMap<Target, Sent>,
    /// With the time of the retry.
    failed: BTreeMap<Target, Instant>,
    /// Targets whose last request has an unknown outcome: they are read before the next one.
    unknown: BTreeSet<Target>,
    backoffs: BTreeMap<Target, Backoff>,
}

impl Guards {
    /// Whether the target may not be written now.
    pub fn is_blocked(&self, target: &Target) -> bool {
        self.in_flight.contains_key(target)
            || self.sent.contains_key(target)
            || self.failed.contains_key(target)
            || self.unknown.contains(target)
    }

    /// Records that a request is sent.
    pub fn send(&mut self, target: Target) {
        self.in_flight.insert(target, 0);
    }

    /// Records a success that resulted in this version (0 after a deletion). True when the watch
    /// has shown it already.
    pub fn succeeded(&mut self, target: &Target, version: u64, now: Instant) -> bool {
        let seen = self.in_flight.remove(target).unwrap_or_default();
        self.backoffs.remove(target);
        let is_seen = seen > 0 && seen >= version;
        if !is_seen {
            self.sent.insert(target.clone(), Sent { version, at: now });
        }
        is_seen
    }

    /// Records a failure; returns the time of the retry.
    pub fn failed(&mut self, target: &Target, now: Instant) -> Instant {
        let retry_at = self.back_off(target, now);
        self.failed.insert(target.clone(), retry_at);
        retry_at
    }

    /// Records an unknown outcome; returns when the target should be read. It is blocked until
    /// [`Self::mark_read`].
    pub fn mark_unknown(&mut self, target: &Target, now: Instant) -> Instant {
        self.unknown.insert(target.clone());
        self.back_off(target, now)
    }

    /// Records that a target was read that is never written.
    pub fn finished(&mut self, target: &Target) {
        self.in_flight.remove(target);
        self.backoffs.remove(target);
    }

    /// Records that the target was read after its last request.
    pub fn mark_read(&mut self, target: &Target) {
        self.unknown.remove(target);
    }

    fn back_off(&mut self, target: &Target, now: Instant) -> Instant {
        self.in_flight.remove(target);
        let backoff = self.backoffs.entry(target.clone()).or_insert(Backoff::new(FIRST_RETRY, LONGEST_RETRY));
        now + backoff.wait()
    }

    /// Records that the watch shows this version. True when it confirms the last write.
    pub fn observed(&mut self, target: &Target, version: u64) -> bool {
        if let Some(seen) = self.in_flight.get_mut(target) {
            *seen = (*seen).max(version);
        }
        let is_awaited = self.sent.get(target).is_some_and(|sent| sent.version <= version);
        is_awaited && self.sent.remove(target).is_some()
    }

    /// Records a complete list that started at `since`: earlier writes are in it. After a restore
    /// of etcd its versions may be lower than the expected ones.
    pub fn list_completed(&mut self, is_of_kind: impl Fn(&Target) -> bool, since: Instant) -> Vec<Target> {
        let listed = self.sent.extract_if(.., |target, sent| is_of_kind(target) && sent.at < since);
        listed.map(|(target, _)| target).collect()
    }

    /// Removes and returns the targets whose guard expired.
    pub fn expired(&mut self, now: Instant) -> Vec<Target> {
        let failed = self.failed.extract_if(.., |_, retry_at| *retry_at <= now).map(|(target, _)| target);
        let mut expired: Vec<Target> = failed.collect();
        expired.extend(self.sent.extract_if(.., |_, sent| sent.at + WATCH_TIMEOUT <= now).map(|(target, _)| target));
        expired
    }

    /// When the next one expires.
    pub fn next_expiry(&self) -> Option<Instant> {
        let failed = self.failed.values().copied();
        failed.chain(self.sent.values().map(|sent| sent.at + WATCH_TIMEOUT)).min()
    }

    /// The targets of requests in flight.
    pub fn targets_in_flight(&self) -> impl Iterator<Item = &Target> {
        self.in_flight.keys()
    }

    /// The number of requests in flight for these targets.
    pub fn in_flight(&self, is_of_kind: impl Fn(&Target) -> bool) -> usize {
        self.in_flight.keys().filter(|target| is_of_kind(target)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        Target::Compiled("blue".to_owned())
    }

    #[test]
    fn nothing_is_written_before_a_watch_shows_the_last_write() {
        let (mut guards, now) = (Guards::default(), Instant::now());
        guards.send(target());
        assert!(guards.is_blocked(&target()));
        assert!(!guards.succeeded(&target(), 7, now));
        assert!(!guards.observed(&target(), 6), "an older version");
        assert!(guards.is_blocked(&target()));
        assert!(guards.observed(&target(), 7));
        assert!(!guards.is_blocked(&target()));
    }

    #[test]
    fn a_watch_may_be_faster_than_the_answer() {
        let (mut guards, now) = (Guards::default(), Instant::now());
        guards.send(target());
        guards.observed(&target(), 7);
        assert!(guards.succeeded(&target(), 7, now) && !guards.is_blocked(&target()));
        guards.send(target());
        guards.observed(&target(), DELETED);
        assert!(guards.succeeded(&target(), 0, now) && !guards.is_blocked(&target()));
    }

    #[test]
    fn a_list_after_a_restore_of_etcd_confirms_what_was_sent_before_it() {
        let (mut guards, now) = (Guards::default(), Instant::now());
        guards.send(target());
        guards.succeeded(&target(), 1_000, now);
        assert_eq!(guards.list_completed(|_| true, now), [], "the list may have been made before the write");
        assert_eq!(guards.list_completed(|_| true, now + Duration::from_secs(1)), [target()]);
        assert!(!guards.is_blocked(&target()));
    }

    #[test]
    fn failures_are_retried_with_back_off() {
        let (mut guards, start) = (Guards::default(), Instant::now());
        guards.send(target());
        let first = guards.failed(&target(), start);
        assert_eq!((first - start, guards.next_expiry()), (FIRST_RETRY, Some(first)));
        assert_eq!(guards.expired(start), []);
        assert_eq!(guards.expired(first), [target()]);
        assert!(!guards.is_blocked(&target()));
        guards.send(target());
        assert_eq!(guards.failed(&target(), first) - first, 2 * FIRST_RETRY);
    }

    #[test]
    fn an_unknown_outcome_is_read_before_the_next_request() {
        let (mut guards, start) = (Guards::default(), Instant::now());
        guards.send(target());
        let read_at = guards.mark_unknown(&target(), start);
        assert_eq!(guards.expired(read_at + WATCH_TIMEOUT), [], "time does not reveal its outcome");
        assert!(guards.is_blocked(&target()));
        guards.mark_read(&target());
        assert!(!guards.is_blocked(&target()));
    }

    #[test]
    fn an_event_that_never_comes_is_not_waited_for_indefinitely() {
        let (mut guards, start) = (Guards::default(), Instant::now());
        guards.send(target());
        guards.succeeded(&target(), 7, start);
        assert_eq!(guards.expired(start + WATCH_TIMEOUT), [target()]);
        assert!(!guards.is_blocked(&target()));
    }
}
