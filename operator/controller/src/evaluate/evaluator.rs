//! Evaluates what is marked [`Dirty`].

use super::attachments;
use super::nad_scans::NadScans;
use super::outbox::Outbox;
use super::refusals::Refusals;
use crate::cache::attachments::ObjectName;
use crate::cache::dirty::{Dirty, all_slices};
use crate::cache::{Cache, NadKey, Network, Overlays, UplinkUse, routing_domains};
use crate::compile::{self, Stage, nads, nodes, slices};
use crate::events::EventRecord;
use crate::legacy;
use crate::status;
use crate::status::due::{StatusTimes, Urgency};
use crate::status::evaluate::evaluate;
use crate::status::inputs::Facts;
use crate::status::selected_nodes::SelectedNodes;
use crate::write::guards::Guards;
use crate::write::queue::Class;
use crate::write::{FinalizerChange, Target, Write};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;

/// How many times in a row the API server rejected a compiled network, and its last message.
type Rejection = (u32, String);
/// Rejections in a row before they are reported: a single one may be a race with another writer,
/// and users would be notified of a failure that the next attempt corrects.
const REJECTIONS_BEFORE_REPORT: u32 = 2;

/// The state of evaluations beside the cache, and what remains to be evaluated.
#[derive(Debug, Default)]
pub struct Evaluator {
    pub(super) dirty: Dirty,
    /// Networks whose NADs must be counted again.
    uncounted: BTreeSet<String>,
    /// Networks whose current spec is not compiled for nodes yet.
    outdated: BTreeSet<String>,
    /// NAD progress by network.
    progress: BTreeMap<String, nads::NadProgress>,
    /// Networks that are being deleted and no longer in use on any node.
    deletable: BTreeSet<String>,
    rejections: BTreeMap<String, Rejection>,
    nads: NadScans,
    refusals: Refusals,
    times: StatusTimes,
    uplink_times: StatusTimes,
    /// Pods that attachments need and that were not read.
    unread_pods: BTreeSet<ObjectName>,
}

impl Evaluator {
    /// Marks what must be evaluated.
    pub fn mark(&mut self, dirty: Dirty) {
        let names = dirty.nads.iter().map(|key| key.name.clone());
        self.uncounted.extend(names.chain(dirty.nads_of.iter().cloned()));
        self.uncounted.extend(dirty.networks.iter().cloned());
        dirty.nads_of.iter().for_each(|name| self.nads.mark_network(name.clone()));
        dirty.nads.iter().for_each(|key| self.nads.mark(key.clone()));
        self.dirty.extend(dirty);
    }

    /// Marks the owner of a target dirty, because the target may be written again.
    pub fn mark_target(&mut self, target: Target) {
        match target {
            Target::Finalizer(name) | Target::Compiled(name) => {
                self.dirty.statuses.insert(name.clone());
                self.dirty.networks.insert(name);
            }
            Target::NodeState(name) => drop(self.dirty.nodes.insert(name)),
            Target::NodeSlice(name) => drop(self.dirty.slices.insert(name)),
            Target::Status(name) => drop(self.dirty.statuses.insert(name)),
            Target::UplinkFinalizer(name) | Target::UplinkStatus(name) => drop(self.dirty.uplinks.insert(name)),
            Target::AttachmentMetadata(name) | Target::AttachmentStatus(name) => {
                self.dirty.attachments.insert(name);
            }
            Target::ReservationStatus(name) => drop(self.dirty.reservations.insert(name)),
            Target::NodeAttachments(name) => drop(self.dirty.attachment_nodes.insert(name)),
            // It is among those that were not read as long as an attachment needs it.
            Target::Pod(_) => {}
            Target::NetworkFromNad(_) => self.dirty.legacy = true,
            Target::Nad(key) => self.nads.mark(key),
        }
    }

    /// Whether something is left for [`Self::evaluate`].
    pub fn is_dirty(&self) -> bool {
        let Dirty { networks, statuses, nodes, slices, uplinks, overlays, uplink_use, routing_domains, .. } =
            &self.dirty;
        let Dirty { attachments, attachment_nodes, reservations, undecided, .. } = &self.dirty;
        let is_any = *overlays || *uplink_use || *routing_domains;
        is_any
            || !attachments.is_empty()
            || !reservations.is_empty()
            || [networks, statuses, nodes, slices, uplinks, attachment_nodes, undecided]
                .iter()
                .any(|names| !names.is_empty())
    }

    /// Whether something is left for [`Self::count_nads`].
    pub fn has_uncounted(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// Whether something is left for [`Self::evaluate_legacy`].
    pub const fn is_legacy_dirty(&self) -> bool {
        self.dirty.legacy
    }

    /// Evaluates nodes, networks and statuses that are marked.
    pub fn evaluate(&mut self, cache: &mut Cache, outbox: &mut Outbox<'_>) {
        if std::mem::take(&mut self.dirty.overlays) {
            self.evaluate_overlays(cache);
        }
        if std::mem::take(&mut self.dirty.uplink_use) {
            self.evaluate_uplink_use(cache);
        }
        if std::mem::take(&mut self.dirty.routing_domains) {
            self.evaluate_routing_domains(cache);
        }
        for name in std::mem::take(&mut self.dirty.nodes) {
            let write = nodes::write(cache, &name);
            outbox.put_now(&Target::NodeState(name), write, Class::Network);
        }
        for name in std::mem::take(&mut self.dirty.slices) {
            let write = slices::write(cache, &name);
            outbox.put_now(&Target::NodeSlice(name), write, Class::Network);
        }
        self.decide_changed_networks(cache);
        for name in std::mem::take(&mut self.dirty.networks) {
            self.evaluate_network(cache, outbox, &name);
        }
        let mut nodes = SelectedNodes::new(cache);
        for name in std::mem::take(&mut self.dirty.statuses) {
            self.evaluate_status(cache, &mut nodes, outbox, &name);
        }
        for name in std::mem::take(&mut self.dirty.uplinks) {
            self.evaluate_uplink(cache, &nodes, outbox, &name);
        }
        self.evaluate_attachments(cache, outbox);
        self.evaluate_reservations(cache, outbox);
    }

    /// Attachments before the nodes that they are requested of.
    fn evaluate_attachments(&mut self, cache: &Cache, outbox: &mut Outbox<'_>) {
        let (names, nodes) =
            (std::mem::take(&mut self.dirty.attachments), std::mem::take(&mut self.dirty.attachment_nodes));
        if !cache.attachments.is_listed {
            return;
        }
        for name in names {
            let writes = attachments::evaluate(cache, &name, &outbox.now.time);
            self.unread_pods.extend(writes.unread_pod);
            outbox.put_now(&Target::AttachmentMetadata(name.clone()), writes.metadata, Class::Attachment);
            outbox.put_now(&Target::AttachmentStatus(name), writes.status, Class::Attachment);
        }
        for node in nodes {
            let write = compile::attachments::write(cache, &node);
            outbox.put_now(&Target::NodeAttachments(node), write, Class::Network);
        }
    }

    /// A pod has to be read again.
    pub fn read_again(&mut self, pod: ObjectName) {
        self.unread_pods.insert(pod);
    }

    /// The pods that have to be read.
    pub fn unread_pods(&self) -> impl Iterator<Item = &ObjectName> {
        self.unread_pods.iter()
    }

    /// A pod is being read.
    pub fn take_pod(&mut self, pod: &ObjectName) {
        self.unread_pods.remove(pod);
    }

    /// Marks the networks that can have their uplinks now and could not before, or vice versa, and
    /// the uplinks whose networks changed.
    fn evaluate_uplink_use(&mut self, cache: &mut Cache) {
        let uplink_use = UplinkUse::of(&cache.networks, &cache.compiled, &cache.uplinks);
        let networks: BTreeSet<String> = uplink_use.networks_changed_since(&cache.uplink_use).cloned().collect();
        let uplinks: BTreeSet<String> = uplink_use.uplinks_changed_since(&cache.uplink_use).cloned().collect();
        cache.uplink_use = uplink_use;
        let (statuses, nads_of) = (networks.clone(), networks.clone());
        self.mark(Dirty { networks, statuses, nads_of, uplinks, ..Dirty::default() });
    }

    /// Marks the networks that can have their subnets now and could not before, or vice versa.
    fn evaluate_routing_domains(&mut self, cache: &mut Cache) {
        let routing_domains = routing_domains::conflicts(&cache.networks, &cache.compiled);
        let changed: BTreeSet<String> = routing_domains.changed_since(&cache.routing_domains).cloned().collect();
        cache.routing_domains = routing_domains;
        self.mark(Dirty { networks: changed.clone(), statuses: changed.clone(), nads_of: changed, ..Dirty::default() });
    }

    fn evaluate_uplink(&mut self, cache: &Cache, nodes: &SelectedNodes<'_>, outbox: &mut Outbox<'_>, name: &str) {
        let finalizer = compile::uplinks::write(cache, name);
        outbox.put_now(&Target::UplinkFinalizer(name.to_owned()), finalizer, Class::Network);
        let target = Target::UplinkStatus(name.to_owned());
        let Some(uplink) = cache.uplinks.get(name) else {
            self.uplink_times.remove(name);
            return outbox.queue.remove(&target);
        };
        let Some(status) = status::uplink::evaluate(cache, nodes, name, &outbox.now.time) else {
            return outbox.queue.remove(&target);
        };
        if uplink.status.as_ref() == Some(&status) {
            self.uplink_times.clear_due(name);
            return outbox.queue.remove(&target);
        }
        let urgency = Urgency::of_uplink(uplink.status.as_ref(), &status);
        let class = if urgency >= Urgency::Pods { Class::Counts } else { Class::Status };
        let due = self.uplink_times.due(name, &uplink.uid, urgency, &status, outbox.now.instant);
        let (name, uid) = (name.to_owned(), uplink.uid.clone());
        outbox.put(&target, Some(Write::UplinkStatus { uplink: name, uid, status: Box::new(status) }), class, due);
    }

    /// Assigns VNIs, and marks the networks whose VNI changed. Slices change only with the labels
    /// that overlays select by.
    fn evaluate_overlays(&mut self, cache: &mut Cache) {
        let overlays = Overlays::of(&cache.networks, &cache.compiled, &cache.uplinks, &cache.nodes);
        let changed: BTreeSet<String> = overlays.changed_since(&cache.overlays).cloned().collect();
        if overlays.label_keys() != cache.overlays.label_keys() {
            self.dirty.slices.extend(all_slices(cache));
        }
        cache.overlays = overlays;
        self.mark(Dirty { networks: changed.clone(), statuses: changed.clone(), nads_of: changed, ..Dirty::default() });
    }

    fn evaluate_network(&mut self, cache: &Cache, outbox: &mut Outbox<'_>, name: &str) {
        let compiled = compile::network::write(cache, name)
            .filter(|_| !is_finalizer_removal_in_flight(cache, outbox.guards, name));
        set_member(&mut self.outdated, name, compiled.is_some());
        outbox.put_now(&Target::Compiled(name.to_owned()), compiled, network_class(cache, name));
        self.evaluate_finalizer(cache, outbox, name);
        if !cache.networks.contains_key(name) {
            self.progress.remove(name);
            self.deletable.remove(name);
            self.rejections.remove(name);
            self.refusals.remove(name);
            self.times.remove(name);
            outbox.queue.remove(&Target::Status(name.to_owned()));
        }
    }

    fn evaluate_finalizer(&self, cache: &Cache, outbox: &mut Outbox<'_>, name: &str) {
        let write = cache.networks.get(name).and_then(|network| {
            let change = match (Stage::of(cache, name, network), network.finalizer) {
                (Stage::New, _) => FinalizerChange::Add,
                (Stage::Deleting, Some(index)) if self.may_remove_finalizer(cache, name) => {
                    FinalizerChange::Remove { index }
                }
                _ => return None,
            };
            Some(Write::Finalizer { network: name.to_owned(), uid: network.uid.clone(), change })
        });
        outbox.put_now(&Target::Finalizer(name.to_owned()), write, network_class(cache, name));
    }

    fn may_remove_finalizer(&self, cache: &Cache, name: &str) -> bool {
        self.deletable.contains(name) && !nads::has_deletable(cache, name)
    }

    fn evaluate_status(&mut self, cache: &Cache, nodes: &mut SelectedNodes<'_>, outbox: &mut Outbox<'_>, name: &str) {
        let rejection = self.rejections.get(name).filter(|(count, _)| *count >= REJECTIONS_BEFORE_REPORT);
        let facts = Facts {
            is_outdated: self.outdated.contains(name),
            rejection: rejection.map(|(_, message)| message.as_str()),
            nads: self.progress.get(name),
        };
        let evaluation = evaluate(cache, nodes, name, facts, &outbox.now.time);
        let was_deletable = self.deletable.contains(name);
        set_member(&mut self.deletable, name, evaluation.may_delete);
        if evaluation.may_delete && !was_deletable {
            self.nads.mark_network(name.to_owned());
        }
        if evaluation.may_delete || was_deletable {
            self.evaluate_finalizer(cache, outbox, name);
        }
        let target = Target::Status(name.to_owned());
        let old = cache.networks.get(name).map(|network| (network, network.status.as_ref()));
        let (Some((network, old)), Some(status)) = (old, evaluation.status) else {
            return outbox.queue.remove(&target);
        };
        if old == Some(&status) {
            self.times.clear_due(name);
            return outbox.queue.remove(&target);
        }
        let urgency = Urgency::of(old, &status, evaluation.has_unreachable_pods);
        let class = match urgency {
            Urgency::Pods | Urgency::Counts | Urgency::NodeCounts => Class::Counts,
            Urgency::Transition | Urgency::Begin if network.is_from_nad() => Class::LegacyNetwork,
            Urgency::Transition | Urgency::Begin => Class::Status,
        };
        let due = self.times.due(name, &network.uid, urgency, &status, outbox.now.instant);
        let (network, uid) = (name.to_owned(), network.uid.clone());
        outbox.put(&target, Some(Write::Status { network, uid, status: Box::new(status) }), class, due);
    }

    /// Counts the NADs of networks with changes. This iterates over all namespaces, so the caller
    /// rate-limits it.
    pub fn count_nads(&mut self, cache: &Cache) {
        for name in std::mem::take(&mut self.uncounted) {
            let network = cache.networks.get(&name).and_then(|network| Some((network, network.spec.as_ref().ok()?)));
            let Some((network, valid)) = network else { continue };
            self.refusals.retain(&name, |namespace| cache.namespaces.contains_key(namespace));
            let progress = nads::progress(cache, &name, network, valid, self.refusals.of(&name));
            if self.progress.get(&name) != Some(&progress) {
                self.progress.insert(name.clone(), progress);
                self.dirty.statuses.insert(name);
            }
        }
    }

    /// Evaluates users' NADs; returns the events to report.
    pub fn evaluate_legacy(
        &mut self,
        cache: &Cache,
        options: &legacy::Options,
        outbox: &mut Outbox<'_>,
    ) -> Vec<EventRecord> {
        self.dirty.legacy = false;
        let found = legacy::evaluate(cache, options);
        let targets: BTreeSet<Target> = found.writes.iter().map(Write::target).collect();
        outbox.queue.retain_targets(Class::NetworkFromNad, &targets);
        for write in found.writes {
            outbox.put_now(&write.target(), Some(write), Class::NetworkFromNad);
        }
        found.records
    }

    /// The next NAD write; none while NADs cannot be read.
    pub fn next_nad_write(&mut self, cache: &Cache, guards: &Guards) -> Option<Write> {
        self.nads.next_write(cache, guards, &self.deletable)
    }

    /// Whether NADs remain to be compared.
    pub fn has_dirty_nads(&self) -> bool {
        !self.nads.is_empty()
    }

    /// A status is being written.
    pub fn record_status_write(&mut self, write: &Write, now: Instant) {
        match write {
            Write::Status { network, status, .. } => self.times.record_write(network, status.as_ref(), now),
            Write::UplinkStatus { uplink, status, .. } => self.uplink_times.record_write(uplink, status.as_ref(), now),
            _ => {}
        }
    }

    /// Records whether the API server accepted a NAD (none) or what it said.
    pub fn record_nad_result(&mut self, key: &NadKey, refusal: Option<String>) {
        if self.refusals.record(key, refusal) {
            self.uncounted.insert(key.name.clone());
        }
    }

    /// Records whether the API server accepted the compiled network (none) or rejected it.
    pub fn record_compile_result(&mut self, network: &str, rejection: Option<String>) {
        match rejection {
            None if self.rejections.remove(network).is_none() => return,
            None => {}
            Some(message) => {
                let count = self.rejections.get(network).map_or(0, |(count, _)| *count);
                self.rejections.insert(network.to_owned(), (count.saturating_add(1), message));
            }
        }
        self.dirty.statuses.insert(network.to_owned());
    }
}

/// Whether the removal of the finalizer of a deleted network is in flight. Kubernetes' garbage
/// collector may then be faster than the watch that shows the network deleted, and a compiled
/// network that was created again would exist briefly, on all nodes.
fn is_finalizer_removal_in_flight(cache: &Cache, guards: &Guards, name: &str) -> bool {
    cache.networks.get(name).is_some_and(Network::is_deleting) && guards.is_blocked(&Target::Finalizer(name.to_owned()))
}

/// The priority class of finalizers and compiled networks of this network.
fn network_class(cache: &Cache, name: &str) -> Class {
    match cache.networks.get(name).is_some_and(Network::is_from_nad) {
        true => Class::LegacyNetwork,
        false => Class::Network,
    }
}

fn set_member(names: &mut BTreeSet<String>, name: &str, is_in: bool) {
    if is_in {
        names.insert(name.to_owned());
    } else {
        names.remove(name);
    }
}
