//! Applies what the watches see to the cache, and marks what has to be evaluated again.

use super::{Change, Kind, Seen};
use crate::api_error::message;
use crate::controller::cache::definitions::Availability;
use crate::controller::cache::feed::{Changed, Feed};
use crate::controller::cache::{Cache, NodeState};
use crate::controller::dirty::Dirty;
use crate::controller::write::Target;
use kube::runtime::watcher::{self, Event};
use std::collections::BTreeSet;
use std::mem::take;

/// What an observed change means to what was written before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controller) enum Observation {
    /// Objects of these targets are in this version.
    Seen(Vec<Target>, u64),
    /// A list of this kind begins.
    ListBegins(Kind),
    /// A list of this kind has arrived whole.
    Listed(Kind),
    /// Nothing.
    Nothing,
}

/// The cache, and how far the watches are.
#[derive(Debug, Default)]
pub(in crate::controller) struct Observer {
    cache: Cache,
    networks: Feed<String>,
    compiled: Feed<String>,
    namespaces: Feed<String>,
    nodes: Feed<String>,
    states: Feed<String>,
    failing: BTreeSet<Kind>,
    dirty: Dirty,
}

impl Observer {
    /// Every kind was listed. Only definitions may be missing: their CRD comes with Multus, and nothing but themselves waits for them.
    pub(in crate::controller) fn is_complete(&self) -> bool {
        let feeds = [&self.networks, &self.compiled, &self.namespaces, &self.nodes, &self.states];
        feeds.iter().all(|feed| feed.is_complete())
    }

    /// The cluster as it was seen. Numbers of nodes are given out by the one who writes them.
    pub(in crate::controller) const fn cache(&mut self) -> &mut Cache {
        &mut self.cache
    }

    /// What has to be evaluated again since this was called last.
    pub(in crate::controller) fn take_dirty(&mut self) -> Dirty {
        take(&mut self.dirty)
    }

    /// Applies what a watch saw.
    pub(in crate::controller) fn apply(&mut self, Change { kind, version, result }: Change) -> Observation {
        let seen = match result {
            Ok(seen) => seen,
            Err(error) => {
                self.fail(kind, &error);
                return Observation::Nothing;
            }
        };
        let observation = observation(kind, version, &seen);
        if !matches!(observation, Observation::ListBegins(_)) && self.failing.remove(&kind) {
            tracing::info!(objects = ?kind, "watching again");
        }
        self.apply_seen(seen);
        observation
    }

    fn apply_seen(&mut self, seen: Seen) {
        let (cache, dirty) = (&mut self.cache, &mut self.dirty);
        match seen {
            Seen::Network(event) => {
                let changed = self.networks.apply(&mut cache.networks, *event);
                changed.into_iter().for_each(|changed| dirty.network(cache, changed));
            }
            Seen::Compiled(event) => {
                let changed = self.compiled.apply(&mut cache.compiled, event);
                changed.into_iter().for_each(|changed| dirty.compiled(changed));
            }
            Seen::Namespace(event) => {
                let changed = self.namespaces.apply(&mut cache.namespaces, event);
                changed.into_iter().for_each(|changed| dirty.namespace(cache, changed));
            }
            Seen::Node(event) => {
                let changed = self.nodes.apply(&mut cache.nodes, event);
                changed.into_iter().for_each(|changed| dirty.node(cache, changed));
            }
            Seen::NodeState(event) => {
                let changed = self.states.apply(&mut cache.states, event);
                changed.into_iter().for_each(|changed| node_state(cache, dirty, changed));
            }
            Seen::Definition(event) => {
                let is_list = matches!(event, Event::InitDone);
                let (changed, is_users) = cache.definitions.apply(event);
                dirty.definition(changed, is_users);
                if is_list {
                    self.definitions_were_listed();
                }
            }
            Seen::Absent(target) => self.remove(&target),
        }
    }

    /// Definitions may be read for the first time: every network's are compared.
    fn definitions_were_listed(&mut self) {
        self.dirty.definitions_of.extend(self.cache.networks.keys().cloned());
        self.dirty.definitions_of.extend(self.cache.definitions.generated_names().map(str::to_owned));
        self.dirty.statuses.extend(self.cache.networks.keys().cloned());
    }

    /// What was looked for and is not there.
    fn remove(&mut self, target: &Target) {
        let (cache, dirty) = (&mut self.cache, &mut self.dirty);
        match target {
            Target::Finalizer(name) | Target::Status(name) | Target::NetworkFromNad(name) => {
                if let Some(before) = cache.networks.remove(name) {
                    dirty.network(cache, (name.clone(), Some(before)));
                }
            }
            Target::Compiled(name) => {
                cache.compiled.remove(name);
                dirty.compiled((name.clone(), None));
            }
            Target::NodeState(name) => {
                if let Some(before) = cache.states.remove(name) {
                    node_state(cache, dirty, (name.clone(), Some(before)));
                }
            }
            Target::Definition(key) => {
                let (changed, is_users) = cache.definitions.remove(key);
                dirty.definition(changed, is_users);
            }
        }
    }

    fn fail(&mut self, kind: Kind, error: &watcher::Error) {
        if self.failing.insert(kind) {
            log_failure(kind, error);
        }
        let never_listed = self.cache.definitions.availability == Availability::Reading;
        if kind == Kind::Definitions && never_listed && is_unknown_kind(error) {
            self.cache.definitions.availability = Availability::Unavailable;
            self.dirty.statuses.extend(self.cache.networks.keys().cloned());
        }
    }
}

fn node_state(cache: &mut Cache, dirty: &mut Dirty, changed: Changed<String, NodeState>) {
    let (name, before) = &changed;
    let number = |state: Option<&NodeState>| state.and_then(|state| state.number);
    dirty.nodes.extend(cache.numbers.update(name, number(before.as_ref()), number(cache.states.get(name))));
    dirty.node_state(cache, changed);
}

fn observation(kind: Kind, version: u64, seen: &Seen) -> Observation {
    match seen {
        Seen::Network(event) => of_event(kind, version, event, |name: &String| {
            let targets = [Target::Finalizer, Target::Status, Target::NetworkFromNad];
            targets.map(|target| target(name.clone())).into()
        }),
        Seen::Compiled(event) => of_event(kind, version, event, |name| vec![Target::Compiled(name.clone())]),
        Seen::NodeState(event) => of_event(kind, version, event, |name| vec![Target::NodeState(name.clone())]),
        Seen::Definition(event) => of_event(kind, version, event, |key| vec![Target::Definition(key.clone())]),
        Seen::Namespace(_) | Seen::Node(_) => Observation::Nothing,
        Seen::Absent(target) => Observation::Seen(vec![target.clone()], version),
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
            Observation::Seen(targets(key), version)
        }
        Event::Init => Observation::ListBegins(kind),
        Event::InitDone => Observation::Listed(kind),
    }
}

/// Whether the API server does not know such objects.
fn is_unknown_kind(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::InitialListFailed(kube::Error::Api(status)) if status.code == 404)
}

fn log_failure(kind: Kind, error: &watcher::Error) {
    use watcher::Error::{InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed};
    if kind == Kind::Definitions && is_unknown_kind(error) {
        tracing::warn!(
            "the cluster has no NetworkAttachmentDefinitions: install Multus; looking again until they are there"
        );
        return;
    }
    let reason = match error {
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => message(error),
        WatchError(status) => status.message.clone(),
        NoResourceVersion => error.to_string(),
    };
    tracing::warn!(objects = ?kind, reason, "a watch failed; trying again until it works");
}
