//! The destination of the evaluated writes.

use crate::write::guards::Guards;
use crate::write::queue::{Class, Queue};
use crate::write::{Target, Write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use tokio::time::Instant;

/// The current time, as both clocks show it.
#[derive(Debug, Clone)]
pub struct Now {
    /// Monotonic, for deadlines.
    pub instant: Instant,
    /// Wall-clock time, for timestamps in objects.
    pub time: Time,
}

/// The destination of evaluated writes.
#[derive(Debug)]
pub struct Outbox<'a> {
    /// Pending writes.
    pub queue: &'a mut Queue,
    /// Targets that may not be written now.
    pub guards: &'a Guards,
    /// The current time.
    pub now: &'a Now,
}

impl Outbox<'_> {
    /// Sets the pending write of a target, or removes it when none is needed. A blocked target is
    /// marked dirty again when its guard expires, and is evaluated then against what the watch
    /// shows.
    pub(super) fn put(&mut self, target: &Target, write: Option<Write>, class: Class, due: Instant) {
        match write {
            Some(write) if !self.guards.is_blocked(target) => self.queue.set(write, class, due),
            _ => self.queue.remove(target),
        }
    }

    /// Same as [`Self::put`], due immediately.
    pub(super) fn put_now(&mut self, target: &Target, write: Option<Write>, class: Class) {
        self.put(target, write, class, self.now.instant);
    }
}
