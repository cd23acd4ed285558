//! The queue of pending writes, by priority: first those that users wait for. Only the newest write
//! of each target is kept. Pure; time is passed in.

use super::operation::Write;
use super::target::Target;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// Priority classes. Networks that are generated from NADs of Intel's userspace CNI come after
/// those of users, because any tenant can create many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Finalizers, compiled networks, node states and slices of nodes: nodes wait for them.
    Network,
    /// Statuses that users wait for.
    Status,
    /// Both for networks that are generated from NADs.
    LegacyNetwork,
    /// Statuses that change only counts.
    Counts,
    /// The generated networks themselves.
    NetworkFromNad,
}

/// A pending write.
#[derive(Debug, Clone)]
struct Pending {
    write: Write,
    class: Class,
    due: Instant,
}

/// Pending writes by priority.
#[derive(Debug, Default)]
pub struct Queue {
    pending: BTreeMap<Target, Pending>,
    order: BTreeSet<(Class, Instant, Target)>,
}

impl Queue {
    /// Sets the pending write of its target.
    pub fn set(&mut self, write: Write, class: Class, due: Instant) {
        let target = write.target();
        self.remove(&target);
        self.order.insert((class, due, target.clone()));
        self.pending.insert(target, Pending { write, class, due });
    }

    /// Removes the pending write of this target.
    pub fn remove(&mut self, target: &Target) {
        if let Some(Pending { class, due, .. }) = self.pending.remove(target) {
            self.order.remove(&(class, due, target.clone()));
        }
    }

    /// Removes all writes of a class whose targets are not among these.
    pub fn retain_targets(&mut self, class: Class, targets: &BTreeSet<Target>) {
        let is_other = |target: &&Target| !targets.contains(*target);
        let of_class = self.pending.iter().filter(|(_, pending)| pending.class == class).map(|(target, _)| target);
        for target in of_class.filter(is_other).cloned().collect::<Vec<_>>() {
            self.remove(&target);
        }
    }

    /// The next write that is due, of a class that may be sent and a target that is not blocked.
    pub fn pop(
        &mut self,
        now: Instant,
        may_send: impl Fn(Class) -> bool,
        is_blocked: impl Fn(&Target) -> bool,
    ) -> Option<(Class, Write)> {
        let is_next =
            |(class, due, target): &&(Class, Instant, Target)| *due <= now && may_send(*class) && !is_blocked(target);
        let (class, _, target) = self.order.iter().find(is_next).cloned()?;
        self.order.remove(&(class, self.pending.get(&target)?.due, target.clone()));
        self.pending.remove(&target).map(|pending| (class, pending.write))
    }

    /// When the next write that is not due yet becomes due.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        self.order.iter().map(|(_, due, _)| *due).filter(|due| *due > now).min()
    }

    /// All pending writes.
    #[cfg(test)]
    pub(in crate::controller) fn writes(&self) -> impl Iterator<Item = &Write> {
        self.pending.values().map(|pending| &pending.write)
    }

    /// The number of pending writes.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether no write is pending.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn drain(network: &str) -> Write {
        Write::DrainCompiled { network: network.to_owned(), uid: "1".to_owned() }
    }

    #[test]
    fn writes_are_sent_by_priority_and_only_the_newest_of_a_target() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.set(drain("legacy"), Class::LegacyNetwork, now);
        queue.set(drain("later"), Class::Network, now + Duration::from_secs(1));
        queue.set(drain("blue"), Class::Counts, now);
        queue.set(drain("blue"), Class::Network, now);
        let mut pop = |now| queue.pop(now, |_| true, |_| false).map(|(_, write)| write);
        assert_eq!([pop(now), pop(now), pop(now)], [Some(drain("blue")), Some(drain("legacy")), None]);
        assert_eq!(queue.next_due(now), Some(now + Duration::from_secs(1)));
        assert_eq!(queue.len(), 1);
    }

    #[test]
    fn a_blocked_target_waits_and_delays_nothing_else() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        queue.set(drain("blue"), Class::Network, now);
        queue.set(drain("red"), Class::Network, now);
        let is_blocked = |target: &Target| *target == Target::Compiled("blue".to_owned());
        assert_eq!(queue.pop(now, |_| true, is_blocked).map(|(_, write)| write), Some(drain("red")));
        assert_eq!(queue.pop(now, |_| true, is_blocked), None);
        assert_eq!(queue.pop(now, |class| class != Class::Network, |_| false), None);
        queue.remove(&Target::Compiled("blue".to_owned()));
        assert!(queue.is_empty());
    }
}
