//! Sends the writes that are due (IO).

use super::leader_state::{LeaderState, Response};
use crate::cache::Cache;
use crate::cache::attachments::ObjectName;
use crate::write::guards::Guards;
use crate::write::queue::Class;
use crate::write::request::send;
use crate::write::{Target, Write};
use futures::future::FutureExt;
use kube::Client;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;
use usnet_common::shares::Shares;

/// Requests in flight that NADs and generated networks leave to everything else, at the least.
/// There may be very many of those: with a smaller reserve they would delay the networks of users,
/// with a larger one they would be slow even while nothing else is pending.
const RESERVED_REQUESTS: usize = 4;
/// Writes of attachments in flight for one namespace: with as many as the API server takes, others
/// would wait for each answer until all of these are answered.
const ATTACHMENT_WRITES_MAX: usize = 4;
/// Pods that are read at the same time: attachments of users may name very many.
const POD_READS_MAX: usize = 16;

impl LeaderState {
    /// Sends what is due, within the limit of requests in flight.
    pub(super) fn dispatch(&mut self, cache: &Cache, writer: &Client, now: Instant) {
        self.read_pods(writer);
        loop {
            let (limit, in_flight) = (self.limiter.limit(now), self.responses.len());
            if in_flight >= limit {
                break;
            }
            let nads = self.guards.in_flight(|target| matches!(target, Target::Nad(_)));
            let networks = self.guards.in_flight(|target| matches!(target, Target::NetworkFromNad(_)));
            let nad_limit = limit.saturating_sub(RESERVED_REQUESTS).max(1).min(limit.div_ceil(2));
            let is_counts_due = self.counts_bucket.0.has_token(now.into_std());
            let may_send = |class| match class {
                Class::Network | Class::Status => true,
                Class::Attachment | Class::LegacyNetwork => in_flight < limit.saturating_sub(RESERVED_REQUESTS).max(1),
                Class::Counts => is_counts_due,
                Class::NetworkFromNad => networks == 0,
            };
            let guards = &self.guards;
            let busy = busy_namespaces(guards);
            let is_busy = |target: &Target| target.namespace().is_some_and(|namespace| busy.contains(namespace));
            let is_blocked = |target: &Target| is_busy(target) || guards.is_blocked(target);
            let write = match self.queue.pop(now, may_send, is_blocked) {
                Some((class, write)) => {
                    if class == Class::Counts {
                        self.counts_bucket.0.take_token(now.into_std());
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

    /// Reads pods that attachments name. Those of one namespace leave some reads to others.
    fn read_pods(&mut self, writer: &Client) {
        let guards = &self.guards;
        let mut reads = Shares::halves(POD_READS_MAX);
        let reading: Vec<&str> = guards.targets_in_flight().filter_map(pod_namespace).collect();
        reading.into_iter().for_each(|namespace| reads.take(namespace));
        if reads.taken() >= POD_READS_MAX {
            return;
        }
        let unread = self.evaluator.unread_pods().filter(|pod| !guards.is_blocked(&Target::Pod((*pod).clone())));
        let chosen: Vec<ObjectName> =
            reads.share_out(unread.map(|pod| (pod.namespace.as_str(), pod))).into_iter().cloned().collect();
        for pod in chosen {
            self.evaluator.take_pod(&pod);
            self.read_pod(pod, writer);
        }
    }

    fn start(&mut self, write: Write, cache: &Cache, writer: &Client, now: Instant) {
        self.reported_conditions.remember(cache, &write.target());
        self.evaluator.record_status_write(&write, now);
        self.guards.send(write.target());
        self.responses.push(send(writer.clone(), write).map(Response::Write).boxed());
    }
}

/// The namespaces that have as many writes in flight as they may.
fn busy_namespaces(guards: &Guards) -> BTreeSet<&str> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for target in guards.targets_in_flight().filter(|target| !matches!(target, Target::Pod(_))) {
        target.namespace().into_iter().for_each(|namespace| *count.entry(namespace).or_default() += 1);
    }
    count.into_iter().filter(|(_, count)| *count >= ATTACHMENT_WRITES_MAX).map(|(namespace, _)| namespace).collect()
}

fn pod_namespace(target: &Target) -> Option<&str> {
    match target {
        Target::Pod(name) => Some(&name.namespace),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::AttachmentWrite;

    fn client() -> Client {
        let service = tower::service_fn(|_| async {
            Err::<http::Response<kube::client::Body>, tower::BoxError>("no API server".into())
        });
        Client::new(service, "default")
    }

    /// The reads that one namespace may have.
    const SHARE: usize = POD_READS_MAX / 2;

    #[tokio::test]
    async fn a_namespace_has_a_few_writes_in_flight_and_the_others_wait() {
        let (mut state, client, now) = (LeaderState::default(), client(), Instant::now());
        let write = |namespace: &str, number| {
            let name = ObjectName { namespace: namespace.to_owned(), name: format!("net-{number:02}") };
            Write::Attachment(AttachmentWrite::RemoveFinalizer { name, uid: String::new(), index: 0 })
        };
        for (namespace, count) in [("team-a", 12), ("team-b", 2)] {
            (0..count).for_each(|number| state.queue.set(write(namespace, number), Class::Attachment, now));
        }
        state.dispatch(&Cache::default(), &client, now);
        let in_flight = |state: &LeaderState, namespace| state.guards.in_flight(|it| it.namespace() == Some(namespace));
        assert_eq!(["team-a", "team-b"].map(|namespace| in_flight(&state, namespace)), [ATTACHMENT_WRITES_MAX, 2]);
        state.guards.finished(&write("team-a", 0).target());
        state.dispatch(&Cache::default(), &client, now);
        assert_eq!(in_flight(&state, "team-a"), ATTACHMENT_WRITES_MAX);
        assert_eq!(state.queue.len(), 12 - ATTACHMENT_WRITES_MAX - 1);
    }

    #[tokio::test]
    async fn a_few_pods_are_read_at_a_time_and_the_others_wait() {
        let (mut state, client, now) = (LeaderState::default(), client(), Instant::now());
        let name = |number| ObjectName { namespace: "team-a".to_owned(), name: format!("pod-{number:02}") };
        (0..SHARE + 4).for_each(|number| state.evaluator.read_again(name(number)));
        for _ in 0..2 {
            state.dispatch(&Cache::default(), &client, now);
            assert_eq!(state.reads.len(), SHARE);
        }
        let other = ObjectName { namespace: "team-b".to_owned(), name: "web".to_owned() };
        state.evaluator.read_again(other.clone());
        state.dispatch(&Cache::default(), &client, now);
        assert!(state.guards.is_blocked(&Target::Pod(other.clone())), "another namespace does not wait");
        state.guards.finished(&Target::Pod(other));
        // A read that failed waits as well.
        state.postpone_pod(name(0), now);
        state.dispatch(&Cache::default(), &client, now);
        assert_eq!(state.guards.in_flight(|_| true), SHARE);
        assert!(state.guards.is_blocked(&Target::Pod(name(SHARE))), "it is read now");
        let later = state.guards.next_expiry().unwrap();
        assert_eq!(state.guards.expired(later), [Target::Pod(name(0))]);
        state.guards.finished(&Target::Pod(name(1)));
        state.dispatch(&Cache::default(), &client, later);
        assert!(state.guards.is_blocked(&Target::Pod(name(0))), "it is read again");
    }
}
