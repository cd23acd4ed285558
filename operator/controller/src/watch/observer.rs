//! Applies watch events to the cache, and marks what must be evaluated again.

use super::update::{Kind, ObjectEvent, WatchUpdate};
use crate::cache::attachments::{Attachment, Attachments, FoundPod, ObjectName};
use crate::cache::dirty::Dirty;
use crate::cache::nads::Availability;
use crate::cache::{Cache, NodeState};
use crate::events::{EventRecord, affected_pods, degraded, engine_ends};
use crate::write::Target;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::runtime::watcher::{self, Event};
use std::collections::BTreeSet;
use std::mem::take;
use usnet_common::api::error::message;
use usnet_common::api::reflector::{Changed, Reflector};

/// What a watch update means for writes in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Observation {
    /// The objects of these targets have this resourceVersion.
    Updated(Vec<Target>, u64),
    /// A list of this kind starts.
    ListStarted(Kind),
    /// A list of this kind is complete.
    ListCompleted(Kind),
    /// No effect on writes.
    NoOp,
}

/// The cache, and the state of the watches.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    cache: Cache,
    networks: Reflector<String>,
    compiled: Reflector<String>,
    namespaces: Reflector<String>,
    nodes: Reflector<String>,
    states: Reflector<String>,
    slices: Reflector<String>,
    uplinks: Reflector<String>,
    attachments: Reflector<ObjectName>,
    reservations: Reflector<ObjectName>,
    failing: BTreeSet<Kind>,
    dirty: Dirty,
    events: Vec<EventRecord>,
}

impl Observer {
    /// Whether every kind was listed. NADs may be missing: their CRD is installed with Multus, and
    /// nothing else depends on them. Nor does anything on attachments.
    pub(crate) fn is_complete(&self) -> bool {
        let reflectors = [&self.networks, &self.compiled, &self.namespaces, &self.nodes, &self.states];
        let others = [&self.slices, &self.uplinks];
        reflectors.iter().chain(&others).all(|reflector| reflector.is_complete()) && self.reservations.is_complete()
    }

    /// The observed cluster. It is mutable because node numbers are assigned where node states are
    /// planned.
    pub(crate) const fn cache(&mut self) -> &mut Cache {
        &mut self.cache
    }

    /// When this installation was created. It is set once, and everything is evaluated again.
    pub(crate) fn set_installed(&mut self, installed: Option<Time>) {
        self.cache.installed = installed;
        self.dirty = Dirty::everything(&self.cache);
    }

    /// Takes what was marked dirty since the last call.
    pub(crate) fn take_dirty(&mut self) -> Dirty {
        take(&mut self.dirty)
    }

    /// Takes the events that follow from what was observed since the last call.
    pub(crate) fn take_events(&mut self) -> Vec<EventRecord> {
        take(&mut self.events)
    }

    /// Applies a watch update.
    pub(crate) fn apply(&mut self, WatchUpdate { kind, version, result }: WatchUpdate) -> Observation {
        let seen = match result {
            Ok(seen) => seen,
            Err(error) => {
                self.fail(kind, &error);
                return Observation::NoOp;
            }
        };
        let observation = observation(kind, version, &seen);
        if !matches!(observation, Observation::ListStarted(_)) && self.failing.remove(&kind) {
            tracing::info!(objects = ?kind, "watching again");
        }
        self.apply_event(seen);
        observation
    }

    fn apply_event(&mut self, seen: ObjectEvent) {
        let (cache, dirty) = (&mut self.cache, &mut self.dirty);
        match seen {
            ObjectEvent::Network(event) => {
                let changed = self.networks.apply(&mut cache.networks, *event);
                changed.into_iter().for_each(|changed| dirty.network(cache, changed));
            }
            ObjectEvent::Compiled(event) => {
                let changed = self.compiled.apply(&mut cache.compiled, event);
                changed.into_iter().for_each(|changed| dirty.compiled(cache, changed));
            }
            ObjectEvent::Namespace(event) => {
                let changed = self.namespaces.apply(&mut cache.namespaces, event);
                changed.into_iter().for_each(|changed| dirty.namespace(cache, changed));
            }
            ObjectEvent::Node(event) => {
                let changed = self.nodes.apply(&mut cache.nodes, event);
                changed.into_iter().for_each(|changed| dirty.node(cache, changed));
            }
            ObjectEvent::NodeState(event) => self.node_states(event),
            ObjectEvent::NodeSlice(event) => {
                let changed = self.slices.apply(&mut cache.slices, event);
                changed.into_iter().for_each(|changed| dirty.slice(changed));
            }
            ObjectEvent::Uplink(event) => {
                let changed = self.uplinks.apply(&mut cache.uplinks, *event);
                changed.into_iter().for_each(|changed| dirty.uplink(cache, changed));
            }
            ObjectEvent::Nad(event) => {
                let is_list = matches!(event, Event::InitDone);
                let (changed, user_nads_changed) = cache.nads.apply(event);
                dirty.nad(changed, user_nads_changed);
                if is_list {
                    self.nads_listed();
                }
            }
            ObjectEvent::Attachment(event) => self.attachment(*event),
            ObjectEvent::Reservation(event) => {
                let changed = self.reservations.apply(&mut cache.reservations.objects, *event);
                changed.into_iter().for_each(|changed| dirty.reservation(cache, changed));
            }
            ObjectEvent::Pod(name, pod) => self.pod(&name, pod),
            ObjectEvent::Absent(target) => self.remove(&target),
        }
    }

    fn node_states(&mut self, event: Event<(String, NodeState)>) {
        let (cache, dirty) = (&mut self.cache, &mut self.dirty);
        let changed = self.states.apply(&mut cache.states, event);
        for changed in changed {
            let (name, before) = &changed;
            if let (Some(before), Some(now)) = (before, cache.states.get_mut(name)) {
                now.continues(before);
            }
            let (before, now) = (before.as_ref(), cache.states.get(name));
            self.events.extend(engine_ends(name, before, now));
            let status = before.and_then(|state| state.status.as_ref());
            let status_now = now.and_then(|state| state.status.as_ref());
            self.events.extend(degraded(status, status_now));
            self.events.extend(affected_pods(name, status, status_now));
            if now.is_some_and(|now| now.has_more_room_than(before)) {
                cache.attachments.forget_pods_of_node(name);
            }
            node_state(cache, dirty, changed);
        }
    }

    fn attachment(&mut self, event: Event<(ObjectName, Attachment)>) {
        let (cache, dirty) = (&mut self.cache, &mut self.dirty);
        let was_listed = std::mem::replace(&mut cache.attachments.is_listed, false);
        let changed = self.attachments.apply(&mut cache.attachments.objects, event);
        cache.attachments.is_listed = self.attachments.is_complete();
        for changed in changed {
            attachment(cache, dirty, changed);
        }
        if !was_listed && cache.attachments.is_listed {
            dirty.all_attachments(cache);
        }
    }

    fn pod(&mut self, name: &ObjectName, pod: FoundPod) {
        // The attachments that it was read for may be gone.
        if self.cache.attachments.of_pod(name).next().is_some() {
            self.cache.attachments.pods.insert(name.clone(), pod);
        }
        self.dirty.pod(&self.cache, name);
    }

    /// NADs may have been listed for the first time: those of all networks are compared.
    fn nads_listed(&mut self) {
        self.dirty.nads_of.extend(self.cache.networks.keys().cloned());
        self.dirty.nads_of.extend(self.cache.nads.generated_names().map(str::to_owned));
        self.dirty.statuses.extend(self.cache.networks.keys().cloned());
    }

    /// Removes an object that was read and does not exist.
    fn remove(&mut self, target: &Target) {
        let (cache, dirty) = (&mut self.cache, &mut self.dirty);
        match target {
            Target::Finalizer(name) | Target::Status(name) | Target::NetworkFromNad(name) => {
                if let Some(before) = cache.networks.remove(name) {
                    dirty.network(cache, (name.clone(), Some(before)));
                }
            }
            Target::Compiled(name) => {
                let before = cache.compiled.remove(name);
                dirty.compiled(cache, (name.clone(), before));
            }
            Target::NodeState(name) | Target::NodeAttachments(name) => {
                if let Some(before) = cache.states.remove(name) {
                    node_state(cache, dirty, (name.clone(), Some(before)));
                }
            }
            Target::NodeSlice(name) => {
                let before = cache.slices.remove(name);
                dirty.slice((name.clone(), before));
            }
            Target::UplinkFinalizer(name) | Target::UplinkStatus(name) => {
                let before = cache.uplinks.remove(name);
                dirty.uplink(cache, (name.clone(), before));
            }
            Target::AttachmentMetadata(name) | Target::AttachmentStatus(name) => {
                let before = cache.attachments.objects.remove(name);
                attachment(cache, dirty, (name.clone(), before));
            }
            Target::ReservationStatus(name) => {
                let before = cache.reservations.objects.remove(name);
                dirty.reservation(cache, (name.clone(), before));
            }
            Target::Pod(name) => self.pod(name, FoundPod::Absent),
            Target::Nad(key) => {
                let (changed, user_nads_changed) = cache.nads.remove(key);
                dirty.nad(changed, user_nads_changed);
            }
        }
    }

    fn fail(&mut self, kind: Kind, error: &watcher::Error) {
        if self.failing.insert(kind) {
            log_failure(kind, error);
        }
        let never_listed = self.cache.nads.availability == Availability::Reading;
        if kind == Kind::Nads && never_listed && is_unknown_kind(error) {
            self.cache.nads.availability = Availability::Unavailable;
            self.dirty.statuses.extend(self.cache.networks.keys().cloned());
        }
    }
}

/// Pods are not watched: one that was read for an older attachment, or for one that has gone with
/// it, may have been replaced. The uid of a pod that is gone would be that of an owner that is
/// gone, and Kubernetes would delete the attachment.
fn attachment(cache: &mut Cache, dirty: &mut Dirty, (name, before): Changed<ObjectName, Attachment>) {
    let Attachments { objects, pods, .. } = &mut cache.attachments;
    let now = objects.get(&name);
    if before.is_some() != now.is_some() {
        before.iter().chain(now).filter_map(|it| it.pod(&name)).for_each(|pod| drop(pods.remove(&pod)));
    }
    dirty.attachment(cache, (name, before));
}

fn node_state(cache: &mut Cache, dirty: &mut Dirty, changed: Changed<String, NodeState>) {
    let (name, before) = &changed;
    let number = |state: Option<&NodeState>| state.and_then(|state| state.number);
    dirty.nodes.extend(cache.node_numbers.update(name, number(before.as_ref()), number(cache.states.get(name))));
    dirty.node_state(cache, changed);
}

fn observation(kind: Kind, version: u64, seen: &ObjectEvent) -> Observation {
    match seen {
        ObjectEvent::Network(event) => of_event(kind, version, event, |name: &String| {
            let targets = [Target::Finalizer, Target::Status, Target::NetworkFromNad];
            targets.map(|target| target(name.clone())).into()
        }),
        ObjectEvent::Compiled(event) => of_event(kind, version, event, |name| vec![Target::Compiled(name.clone())]),
        ObjectEvent::NodeState(event) => of_event(kind, version, event, |name| {
            vec![Target::NodeState(name.clone()), Target::NodeAttachments(name.clone())]
        }),
        ObjectEvent::NodeSlice(event) => of_event(kind, version, event, |name| vec![Target::NodeSlice(name.clone())]),
        ObjectEvent::Uplink(event) => of_event(kind, version, event, |name| {
            vec![Target::UplinkFinalizer(name.clone()), Target::UplinkStatus(name.clone())]
        }),
        ObjectEvent::Nad(event) => of_event(kind, version, event, |key| vec![Target::Nad(key.clone())]),
        ObjectEvent::Attachment(event) => of_event(kind, version, event, |name| {
            vec![Target::AttachmentMetadata(name.clone()), Target::AttachmentStatus(name.clone())]
        }),
        ObjectEvent::Reservation(event) => {
            of_event(kind, version, event, |name| vec![Target::ReservationStatus(name.clone())])
        }
        ObjectEvent::Namespace(_) | ObjectEvent::Node(_) | ObjectEvent::Pod(..) => Observation::NoOp,
        ObjectEvent::Absent(target) => Observation::Updated(vec![target.clone()], version),
    }
}

fn of_event<K, T>(
    kind: Kind,
    version: u64,
    event: &Event<(K, T)>,
    targets: impl FnOnce(&K) -> Vec<Target>,
) -> Observation {
    match event {
        Event::Apply((key, _)) | Event::Delete((key, _)) | Event::InitApply((key, _)) => {
            Observation::Updated(targets(key), version)
        }
        Event::Init => Observation::ListStarted(kind),
        Event::InitDone => Observation::ListCompleted(kind),
    }
}

/// Whether the API server does not know this kind.
fn is_unknown_kind(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404)
}

fn log_failure(kind: Kind, error: &watcher::Error) {
    use watcher::Error::{InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed};
    if kind == Kind::Nads && is_unknown_kind(error) {
        tracing::warn!("the CRD of NetworkAttachmentDefinitions is not installed: install Multus; retrying");
        return;
    }
    let reason = match error {
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => message(error),
        WatchError(status) => status.message.clone(),
        NoResourceVersion => error.to_string(),
    };
    tracing::warn!(objects = ?kind, reason, "a watch failed; retrying");
}
