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
    /// Finalizers, owners and statuses of attachments, and statuses of reservations. Any tenant can
    /// create many: the namespaces take turns.
    Attachment,
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
    turn: usize,
}

/// Pending writes by priority.
#[derive(Debug, Default)]
pub struct Queue {
    pending: BTreeMap<Target, Pending>,
    order: BTreeSet<(Class, usize, Instant, Target)>,
    /// How many writes of each namespace are pending, if namespaces take turns.
    by_namespace: BTreeMap<String, usize>,
}

impl Queue {
    /// Sets the pending write of its target.
    pub fn set(&mut self, write: Write, class: Class, due: Instant) {
        let target = write.target();
        let before = self.pending.get(&target).map(|pending| pending.turn);
        self.remove(&target);
        let line = target.namespace().map(|namespace| self.by_namespace.entry(namespace.to_owned()).or_default());
        let turn = line.map_or(0, |line| {
            *line += 1;
            // A changed write keeps its place.
            before.unwrap_or(*line - 1)
        });
        self.order.insert((class, turn, due, target.clone()));
        self.pending.insert(target, Pending { write, class, due, turn });
    }

    /// Removes the pending write of this target.
    pub fn remove(&mut self, target: &Target) {
        self.take(target);
    }

    fn take(&mut self, target: &Target) -> Option<(Class, Write)> {
        let Pending { write, class, due, turn } = self.pending.remove(target)?;
        self.order.remove(&(class, turn, due, target.clone()));
        if let Some(namespace) = target.namespace()
            && let Some(line) = self.by_namespace.get_mut(namespace)
        {
            *line = line.saturating_sub(1);
            if *line == 0 {
                self.by_namespace.remove(namespace);
            }
        }
        Some((class, write))
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
        let is_next = |(class, _, due, target): &&(Class, usize, Instant, Target)| {
            *due <= now && may_send(*class) && !is_blocked(target)
        };
        let (_, _, _, target) = self.order.iter().find(is_next).cloned()?;
        self.take(&target)
    }

    /// When the next write that is not due yet becomes due.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        self.order.iter().map(|(_, _, due, _)| *due).filter(|due| *due > now).min()
    }

    /// All pending writes.
    #[cfg(test)]
    pub(crate) fn writes(&self) -> impl Iterator<Item = &Write> {
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
    use crate::cache::attachments::ObjectName;
    use crate::write::AttachmentWrite;
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

    fn of_attachment(namespace: &str, name: &str) -> Write {
        let name = ObjectName { namespace: namespace.to_owned(), name: name.to_owned() };
        Write::Attachment(AttachmentWrite::RemoveFinalizer { name, uid: String::new(), index: 0 })
    }

    #[test]
    fn namespaces_take_turns_with_writes_of_attachments() {
        let (mut queue, now) = (Queue::default(), Instant::now());
        for number in 0..100 {
            queue.set(of_attachment("a", &format!("{number:02}")), Class::Attachment, now);
        }
        let later = now + Duration::from_millis(1);
        queue.set(of_attachment("b", "x"), Class::Attachment, later);
        queue.set(of_attachment("b", "y"), Class::Attachment, later);
        queue.set(of_attachment("a", "02"), Class::Attachment, later);
        queue.set(drain("blue"), Class::Network, later);
        let mut pop = || queue.pop(later, |_| true, |_| false).map(|(_, write)| write).unwrap();
        let first: Vec<_> = (0..5).map(|_| pop()).collect();
        let expected =
            [("a", "00"), ("b", "x"), ("a", "01"), ("b", "y")].map(|(space, name)| of_attachment(space, name));
        assert_eq!((&first[0], &first[1..]), (&drain("blue"), &expected[..]));
        assert_eq!(pop(), of_attachment("a", "02"), "a write that was changed keeps its turn");
        while queue.pop(later, |_| true, |_| false).is_some() {}
        assert!(queue.by_namespace.is_empty());
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
