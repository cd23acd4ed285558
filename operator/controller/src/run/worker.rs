//! The event loop of the controller (IO): handles watch updates, evaluates what changed and sends
//! what is due. It never blocks on any of them.

use super::installation;
use super::leader_state::{LeaderState, Response};
use super::metrics::Metrics;
use crate::cache::dirty::Dirty;
use crate::device_classes::{Claimable, claimable};
use crate::evaluate::Now;
use crate::events::{EventRecord, EventRecorder};
use crate::leader::Role;
use crate::legacy;
use crate::watch::{Kind, Observation, Observer, WatchUpdate, changes};
use crate::write::Target;
use futures::FutureExt;
use futures::future::FusedFuture;
use futures::stream::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use std::sync::Arc;
use tokio::sync::watch::{Receiver, Sender};
use tokio::time::{Instant, sleep_until};
use usnet_common::channels::send_if_changed;
use usnet_common::telemetry;

/// The watches ended, which they never do by themselves.
#[derive(Debug, thiserror::Error)]
#[error("the watches of the API server ended: restart the controller")]
pub struct Ended;

/// The state of the event loop.
pub(super) struct Worker {
    pub(super) watcher: Client,
    pub(super) writer: Client,
    pub(super) roles: Receiver<Role>,
    pub(super) legacy: legacy::Options,
    pub(super) has_attachments: bool,
    pub(super) metrics: Arc<Metrics>,
    pub(super) event_recorder: EventRecorder,
    /// None while this replica is not the leader.
    pub(super) claimable: Sender<Option<Claimable>>,
    pub(super) telemetry: Arc<telemetry::Telemetry>,
    pub(super) observer: Observer,
    pub(super) state: LeaderState,
    pub(super) is_leader: bool,
}

impl Worker {
    /// Watches always, writes while this replica is the leader, and returns when its role is
    /// [`Role::Ended`].
    ///
    /// # Errors
    /// When the watches end.
    pub(super) async fn run(mut self) -> Result<(), Ended> {
        let mut changes = changes(&self.watcher, self.has_attachments);
        let mut installed = installation::created(self.watcher.clone()).boxed().fuse();
        loop {
            let wake = self.next_wake(Instant::now());
            tokio::select! {
                change = changes.next() => self.observe(change.ok_or(Ended)?),
                election = self.roles.changed() => {
                    let role = *self.roles.borrow_and_update();
                    if role == Role::Ended || election.is_err() {
                        return Ok(());
                    }
                    self.set_role(role == Role::Leader);
                }
                time = &mut installed, if !installed.is_terminated() => self.observer.set_installed(time),
                Some(response) = self.state.responses.next() => self.handle_response(response),
                Some(response) = self.state.reads.next() => self.handle_response(response),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
            self.work();
        }
    }

    pub(super) fn observe(&mut self, change: WatchUpdate) {
        let now = Instant::now();
        self.state.is_measured = false;
        match self.observer.apply(change) {
            Observation::Updated(targets, version) => {
                for target in targets {
                    if self.state.guards.observed(&target, version) {
                        self.state.evaluator.mark_target(target);
                    }
                }
            }
            Observation::ListStarted(kind) => drop(self.state.lists.insert(kind, now)),
            Observation::ListCompleted(kind) => {
                let since = self.state.lists.remove(&kind).unwrap_or(now);
                for target in self.state.guards.list_completed(|target| kind_of(target) == kind, since) {
                    self.state.evaluator.mark_target(target);
                }
            }
            Observation::NoOp => {}
        }
        if self.observer.is_complete() {
            self.telemetry.set_ready();
        }
    }

    /// Another replica may have been the leader meanwhile, so the state of the last term is
    /// discarded.
    fn set_role(&mut self, is_leader: bool) {
        self.state = LeaderState::default();
        self.is_leader = is_leader;
        self.observer.take_dirty();
        if is_leader {
            self.metrics.start_term();
            let everything = Dirty::everything(self.observer.cache());
            self.state.evaluator.mark(everything);
        } else {
            self.metrics.reset_to_standby();
            self.claimable.send_replace(None);
        }
    }

    /// Evaluates and sends what is due, but only once all lists are complete: before that, a
    /// missing object may only not have been listed yet.
    pub(super) fn work(&mut self) {
        let dirty = self.observer.take_dirty();
        let events = self.observer.take_events();
        if !self.is_leader || !self.observer.is_complete() {
            if self.is_leader && !dirty.is_empty() {
                self.state.evaluator.mark(Dirty { legacy: true, ..dirty });
            }
            return;
        }
        self.record(events);
        if !dirty.networks.is_empty() || self.claimable.borrow().is_none() {
            send_if_changed(&self.claimable, Some(claimable(self.observer.cache())));
        }
        self.state.evaluator.mark(dirty);
        let now = Now { instant: Instant::now(), time: time() };
        for target in self.state.guards.expired(now.instant) {
            self.state.evaluator.mark_target(target);
        }
        let cache = self.observer.cache();
        self.state.decide_reservations(cache, now.instant);
        self.state.evaluate(cache, &self.metrics, &now);
        self.state.count_nads(cache, now.instant);
        let records = self.state.evaluate_legacy(cache, &self.legacy, &now);
        self.state.dispatch(cache, &self.writer, now.instant);
        self.metrics.queued.set(i64::try_from(self.state.queue.len()).unwrap_or(i64::MAX));
        self.record(records);
        self.state.measure(self.observer.cache(), &self.metrics, now.instant);
    }

    fn handle_response(&mut self, response: Response) {
        match response {
            Response::Write(outcome) => {
                self.metrics.write(outcome.write.kind(), &outcome.result);
                let records = self.state.handle_outcome(outcome, &self.writer);
                self.record(records);
            }
            Response::Read(Target::Pod(pod), None) => self.state.postpone_pod(pod, Instant::now()),
            Response::Read(target, None) => self.state.schedule_read(target, &self.writer, Instant::now()),
            Response::Read(target, Some(change)) => {
                self.observe(*change);
                self.state.guards.mark_read(&target);
                if let Target::Pod(name) = &target {
                    let pod = self.observer.cache().attachments.pods.get(name);
                    self.state.handle_pod(&target, pod, Instant::now());
                } else {
                    self.state.evaluator.mark_target(target);
                }
            }
        }
    }

    fn record(&self, records: Vec<EventRecord>) {
        for record in records {
            self.event_recorder.record(record);
        }
    }

    /// The next deadline, if no event arrives before; none before all lists are complete.
    pub(super) fn next_wake(&self, now: Instant) -> Option<Instant> {
        let is_working = self.is_leader && self.observer.is_complete();
        is_working.then(|| self.state.next_wake(now)).flatten()
    }
}

fn kind_of(target: &Target) -> Kind {
    match target {
        Target::Finalizer(_) | Target::Status(_) | Target::NetworkFromNad(_) => Kind::Networks,
        Target::Compiled(_) => Kind::Compiled,
        Target::NodeState(_) | Target::NodeAttachments(_) => Kind::NodeStates,
        Target::AttachmentMetadata(_) | Target::AttachmentStatus(_) => Kind::Attachments,
        Target::ReservationStatus(_) => Kind::Reservations,
        Target::Pod(_) => Kind::Pods,
        Target::NodeSlice(_) => Kind::NodeSlices,
        Target::UplinkFinalizer(_) | Target::UplinkStatus(_) => Kind::Uplinks,
        Target::Nad(_) => Kind::Nads,
    }
}

/// Kubernetes timestamps have whole seconds.
fn time() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
