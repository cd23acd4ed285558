//! Decides when a changed status is written: soon after a single change, and less often while
//! changes keep coming. Pure; time is passed in.
//!
//! Networks that come from NADs of the Userspace CNI (Intel) can change as often as a tenant likes.
//! Their changes are written later, and delay no other.

use std::time::{Duration, Instant};
use usnet_common::token_bucket::TokenBucket;

/// The limits of how long a write waits.
#[derive(Debug, Clone, Copy)]
struct Delays {
    /// The time without a change after which it is written.
    quiet: Duration,
    /// The maximum time since the first change.
    longest: Duration,
}

/// The delays of a single change, for which a user is likely to wait: 200 ms combine the results of
/// all engines.
const SINGLE: Delays = Delays { quiet: Duration::from_millis(200), longest: Duration::from_secs(1) };
/// The delays of a change soon after another write: a hundred networks that change within seconds
/// are reported with two writes. In a cluster of thousands of nodes each write is a load on etcd
/// and on the controller.
const BURST: Delays = Delays { quiet: Duration::from_secs(1), longest: Duration::from_secs(10) };
/// The delays of a changed attachment of a running pod: a user waits for it, and its own request
/// began a burst just before. 100 ms combine an ADD or DEL with its effects.
const ATTACHMENT: Delays = Delays { quiet: Duration::from_millis(100), longest: Duration::from_secs(1) };
/// The delays of an attachment that was attached, and of pods of networks with policies, whose
/// ports are closed until they are reported: failures in other namespaces must not delay them.
const ATTACHED: Delays = Delays { quiet: Duration::from_millis(100), longest: Duration::from_millis(100) };
/// The delays of pods that were attached or detached, and of programs that connected or
/// disconnected, while there are few such changes: a user waits for a pod also where a change of
/// networks has begun a burst. 200 ms combine an ADD with its effects.
const PODS: Delays = Delays { quiet: Duration::from_millis(200), longest: Duration::from_millis(500) };
/// How many writes with these delays there are after a pause: a pod that starts is two, as its
/// program connects later, and one that ends as well.
const PODS_BURST: u32 = 10;
/// One more of them is allowed in each such interval, in which changes that keep coming are written
/// anyway: a node where pods come and go all the time writes no more often for it.
const PODS_INTERVAL: Duration = BURST.longest;
/// After this time without a change, the next change counts as a single one again.
const QUIET_PERIOD: Duration = Duration::from_secs(3);

/// Changes that are not written yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    first: Instant,
    last: Instant,
}

impl Pending {
    fn merge(earlier: Option<Self>, now: Instant) -> Self {
        Self { first: earlier.map_or(now, |earlier| earlier.first), last: now }
    }

    fn due(self, delays: Delays) -> Instant {
        (self.last + delays.quiet).min(self.first + delays.longest)
    }
}

/// The times of changes and writes.
#[derive(Debug)]
pub(super) struct Debounce {
    urgent: Option<Pending>,
    pods: Option<Pending>,
    pods_bucket: TokenBucket,
    attachment: Option<Pending>,
    attached: Option<Pending>,
    deferrable: Option<Pending>,
    /// The time of the last change that users wait for.
    last: Option<Instant>,
    /// Whether something that users wait for was written in this burst.
    is_burst: bool,
    /// Since when the node is ready while the API server shows that it is not.
    recovery: Option<Instant>,
}

impl Default for Debounce {
    fn default() -> Self {
        Self {
            urgent: None,
            pods: None,
            pods_bucket: TokenBucket::new(PODS_BURST, PODS_INTERVAL),
            attachment: None,
            attached: None,
            deferrable: None,
            last: None,
            is_burst: false,
            recovery: None,
        }
    }
}

impl Debounce {
    /// Called when something that users wait for has changed.
    pub(super) fn changed(&mut self, now: Instant) {
        if self.last.is_none_or(|last| now.saturating_duration_since(last) >= QUIET_PERIOD) {
            self.is_burst = false;
        }
        self.urgent = Some(Pending::merge(self.urgent, now));
        self.last = Some(now);
    }

    /// Called when the pods of networks, or which of their programs are connected, have changed.
    pub(super) fn pods_changed(&mut self, now: Instant) {
        self.pods = Some(Pending::merge(self.pods, now));
    }

    /// Called when an attachment of a running pod was attached, detached or has failed.
    pub(super) fn attachment_changed(&mut self, now: Instant) {
        self.attachment = Some(Pending::merge(self.attachment, now));
    }

    /// Called when the set of attached interfaces of running pods, or the pods of networks with
    /// policies, have changed.
    pub(super) fn attached_changed(&mut self, now: Instant) {
        self.attached = Some(Pending::merge(self.attached, now));
    }

    /// Called when only something has changed whose report can wait.
    pub(super) fn changed_deferrably(&mut self, now: Instant) {
        self.deferrable = Some(Pending::merge(self.deferrable, now));
    }

    /// Sets whether the next write makes the node ready. Such a write is not delayed by a burst:
    /// engines come back right in the burst that their end began, and each such write follows one
    /// that was delayed.
    pub(super) fn recovers(&mut self, is_recovery: bool, now: Instant) {
        self.recovery = is_recovery.then(|| self.recovery.unwrap_or(now));
    }

    /// When to write; none while there is nothing to write.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due_pods().into_iter().chain(self.due_otherwise()).min()
    }

    fn due_pods(&self) -> Option<Instant> {
        let due = self.pods?.due(PODS);
        Some(self.pods_bucket.next_token().map_or(due, |next| due.max(next)))
    }

    /// When to write if the changes of pods had no delays of their own.
    fn due_otherwise(&self) -> Option<Instant> {
        let urgent = self.urgent.map(|changes| changes.due(if self.is_burst { BURST } else { SINGLE }));
        let deferrable = self.deferrable.map(|changes| changes.due(BURST));
        let attachment = self.attachment.map(|changes| changes.due(ATTACHMENT));
        let attached = self.attached.map(|changes| changes.due(ATTACHED));
        let recovery = self.recovery.map(|since| since + SINGLE.quiet);
        urgent.into_iter().chain(attachment).chain(attached).chain(deferrable).chain(recovery).min()
    }

    /// Called when the status is again as it was last written.
    pub(super) fn reverted(&mut self) {
        (self.urgent, self.pods, self.attachment, self.attached) = (None, None, None, None);
        (self.deferrable, self.recovery) = (None, None);
    }

    /// Called when the changes were written, or their write was attempted.
    pub(super) fn written(&mut self, now: Instant) {
        if self.pods.is_some() && self.due_otherwise().is_none_or(|due| due > now) {
            self.pods_bucket.take_token(now);
        }
        if self.urgent.is_some() {
            self.is_burst = true;
            self.last = Some(now);
        }
        self.reverted();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When it is written, if something that users wait for changes at each of these milliseconds,
    /// and something deferrable at each of those.
    fn writes_with(changes: &[u64], deferrable: &[u64]) -> Vec<u64> {
        let start = Instant::now();
        let (mut debounce, mut written) = (Debounce::default(), Vec::new());
        let last = changes.iter().chain(deferrable).max().copied().unwrap_or_default();
        for millisecond in 0..last + 20_000 {
            let now = start + Duration::from_millis(millisecond);
            if changes.contains(&millisecond) {
                debounce.changed(now);
            }
            if deferrable.contains(&millisecond) {
                debounce.changed_deferrably(now);
            }
            if debounce.due().is_some_and(|at| at <= now) {
                debounce.written(now);
                written.push(millisecond);
            }
        }
        written
    }

    fn writes(changes: &[u64]) -> Vec<u64> {
        writes_with(changes, &[])
    }

    #[test]
    fn a_single_change_is_written_when_it_is_quiet() {
        assert_eq!(writes(&[50]), [250]);
        assert_eq!(writes(&[50, 150, 340]), [540]);
    }

    #[test]
    fn changes_that_keep_coming_are_written_less_often() {
        let steady: Vec<u64> = (0..300).map(|number| number * 100).collect();
        assert_eq!(writes(&steady), [1_000, 11_100, 21_200, 30_900]);
    }

    #[test]
    fn a_hundred_changes_within_seconds_are_two_writes() {
        for pause in [15, 90] {
            let burst: Vec<u64> = (0..100).map(|number| number * pause).collect();
            assert_eq!(writes(&burst).len(), 2, "{pause}");
        }
    }

    #[test]
    fn after_three_quiet_seconds_it_is_quick_again() {
        assert_eq!(writes(&[0, 300, 5_000]), [200, 1_300, 5_200]);
    }

    #[test]
    fn deferrable_changes_delay_no_others_and_are_written() {
        let steady: Vec<u64> = (0..150).map(|number| number * 100).collect();
        assert_eq!(writes_with(&[], &[0]), [1_000]);
        assert_eq!(writes_with(&[], &steady), [10_000, 15_900]);
        assert_eq!(writes_with(&[2_050, 7_050], &steady), [2_250, 7_250, 15_900]);
    }

    /// When it is written, if the pods of networks change at each of these milliseconds.
    fn pod_writes(changes: &[u64]) -> Vec<u64> {
        let (start, mut debounce, mut written) = (Instant::now(), Debounce::default(), Vec::new());
        for millisecond in 0..changes[changes.len() - 1] + 20_000 {
            let now = start + Duration::from_millis(millisecond);
            if changes.contains(&millisecond) {
                debounce.changed(now);
                debounce.pods_changed(now);
            }
            if debounce.due().is_some_and(|at| at <= now) {
                debounce.written(now);
                written.push(millisecond);
            }
        }
        written
    }

    #[test]
    fn the_pods_of_a_quiet_node_are_written_soon_also_in_a_burst() {
        // Attached, connected; disconnected and detached.
        assert_eq!(pod_writes(&[0, 900, 1_800, 1_900]), [200, 1_100, 2_100]);
    }

    #[test]
    fn pods_that_come_and_go_all_the_time_are_written_as_often_as_other_changes() {
        let steady: Vec<u64> = (0..1_000).map(|number| number * 100).collect();
        let (pods, others) = (pod_writes(&steady), writes(&steady));
        let allowed = others.len() + usize::try_from(PODS_BURST).unwrap() + 1;
        assert!(pods.len() <= allowed, "{} writes instead of {}: {pods:?}", pods.len(), others.len());
        let gaps: Vec<u64> = pods.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[gaps.len() - 5..gaps.len() - 1].iter().all(|gap| *gap >= 9_000), "{pods:?}");
    }

    #[test]
    fn a_recovery_is_written_soon_also_in_a_burst() {
        let start = Instant::now();
        let at = |millisecond| start + Duration::from_millis(millisecond);
        let mut debounce = Debounce::default();
        debounce.changed(at(0));
        debounce.written(at(200));
        debounce.changed(at(1_000));
        debounce.recovers(false, at(1_000));
        assert_eq!(debounce.due(), Some(at(2_000)));
        debounce.changed(at(1_300));
        debounce.recovers(true, at(1_300));
        debounce.changed(at(1_400));
        debounce.recovers(true, at(1_400));
        assert_eq!(debounce.due(), Some(at(1_500)));
        debounce.recovers(false, at(1_450));
        assert_eq!(debounce.due(), Some(at(2_400)), "not ready again");
    }

    #[test]
    fn an_attachment_is_written_soon_also_in_a_burst() {
        let start = Instant::now();
        let at = |millisecond| start + Duration::from_millis(millisecond);
        let mut debounce = Debounce::default();
        debounce.changed(at(0));
        debounce.written(at(200));
        debounce.changed(at(300));
        debounce.attachment_changed(at(300));
        assert_eq!(debounce.due(), Some(at(400)));
        for millisecond in (300..1_400).step_by(50) {
            debounce.attachment_changed(at(millisecond));
        }
        assert_eq!(debounce.due(), Some(at(1_300)));
        debounce.attached_changed(at(450));
        assert_eq!(debounce.due(), Some(at(550)), "one that succeeds does not wait for those that fail");
        debounce.written(at(550));
        assert_eq!(debounce.due(), None);
    }

    #[test]
    fn what_is_as_it_was_is_not_written() {
        let (mut debounce, now) = (Debounce::default(), Instant::now());
        debounce.changed(now);
        debounce.changed_deferrably(now);
        debounce.reverted();
        assert_eq!(debounce.due(), None);
        debounce.changed(now + SINGLE.longest);
        assert_eq!(debounce.due(), Some(now + SINGLE.longest + SINGLE.quiet));
    }
}
