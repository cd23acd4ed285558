//! Sends the writes that are due (IO).

use super::leader_state::{LeaderState, Response};
use crate::controller::cache::Cache;
use crate::controller::write::queue::Class;
use crate::controller::write::request::send;
use crate::controller::write::{Target, Write};
use futures::future::FutureExt;
use kube::Client;
use tokio::time::Instant;

/// Requests in flight that NADs and generated networks leave to everything else, at the least.
/// There may be very many of those: with a smaller reserve they would delay the networks of users,
/// with a larger one they would be slow even while nothing else is pending.
const RESERVED_REQUESTS: usize = 4;

impl LeaderState {
    /// Sends what is due, within the limit of requests in flight.
    pub(super) fn dispatch(&mut self, cache: &Cache, writer: &Client, now: Instant) {
        while let Some(pod) = self.evaluator.next_pod(|target| self.guards.is_blocked(target)) {
            self.read_pod(pod, writer);
        }
        loop {
            let (limit, in_flight) = (self.limiter.limit(now), self.responses.len());
            if in_flight >= limit {
                break;
            }
            let nads = self.guards.in_flight(|target| matches!(target, Target::Nad(_)));
            let networks = self.guards.in_flight(|target| matches!(target, Target::NetworkFromNad(_)));
            let nad_limit = limit.saturating_sub(RESERVED_REQUESTS).max(1).min(limit.div_ceil(2));
            let is_counts_due = self.counts_bucket.has_token(now);
            let may_send = |class| match class {
                Class::Network | Class::Status => true,
                Class::LegacyNetwork => in_flight < limit.saturating_sub(RESERVED_REQUESTS).max(1),
                Class::Counts => is_counts_due,
                Class::NetworkFromNad => networks == 0,
            };
            let guards = &self.guards;
            let write = match self.queue.pop(now, may_send, |target| guards.is_blocked(target)) {
                Some((class, write)) => {
                    if class == Class::Counts {
                        self.counts_bucket.take_token();
                    }
                    Some(write)
                }
                None if nads < nad_limit => self.evaluator.next_nad_write(cache, &self.guards),
                None => None,
            };
            let Some(write) = write else { break };
            self.start(write, cache, writer, now);
        }
    }

    fn start(&mut self, write: Write, cache: &Cache, writer: &Client, now: Instant) {
        self.reported_conditions.remember(cache, &write.target());
        self.evaluator.record_status_write(&write, now);
        self.guards.send(write.target());
        self.responses.push(send(writer.clone(), write).map(Response::Write).boxed());
    }
}
