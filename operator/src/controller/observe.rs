//! Step one of a pass: the watches. They never end; an API server that is away is tried again with growing pauses, and what was seen before stays.

use super::by_name::Pool;
use super::changes::Changes;
use super::feed::{Before, Feed};
use super::inputs::{Definition, DefinitionKey, Inputs, Namespace, Network, Node, NodeState};
use super::parse;
use super::refusal::reason;
use backon::ExponentialBuilder;
use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll, select_all};
use k8s_openapi::api::core::v1;
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, ExponentialBackoff, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;
use usnet_crds::node_state::NetworkReport;
use usnet_crds::{NetworkAttachmentDefinition, NodeNetwork, UserspaceNetwork, UserspaceNodeState};

const FIRST_WAIT: Duration = Duration::from_secs(1);
/// kube's own longest wait is a minute: so long after the API server is back, networks would still be waiting for their nodes.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// Objects in one answer to a list. A node state may be as large as the API server lets any object be, and a page is held whole.
const PAGE: u32 = 100;

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Networks,
    Namespaces,
    Nodes,
    NodeStates,
    Definitions,
}

/// What a watch saw.
pub(super) enum Seen {
    Network(Box<Event<(String, Network)>>),
    Namespace(Event<(String, Namespace)>),
    Node(Event<(String, Node)>),
    NodeState(Event<(String, NodeState)>),
    Definition(Event<(DefinitionKey, Definition)>),
}

/// Something that a watch saw, or why it saw nothing.
pub(super) struct Change {
    kind: Kind,
    /// A list was only begun, which says nothing of whether it will work.
    is_begin: bool,
    result: Result<Seen, Box<watcher::Error>>,
}

/// All watches as one stream.
pub(super) fn changes(client: &Client) -> SelectAll<BoxStream<'static, Change>> {
    let all = || client.clone();
    select_all([
        watch(Api::<DeserializeGuard<UserspaceNetwork>>::all(all()), Kind::Networks, |event| {
            Seen::Network(Box::new(map(event, parse::network)))
        }),
        watch(Api::<PartialObjectMeta<v1::Namespace>>::all(all()), Kind::Namespaces, |event| {
            Seen::Namespace(map(event, parse::namespace))
        }),
        watch(Api::<DeserializeGuard<v1::Node>>::all(all()), Kind::Nodes, |event| Seen::Node(map(event, parse::node))),
        watch(Api::<DeserializeGuard<UserspaceNodeState>>::all(all()), Kind::NodeStates, |event| {
            Seen::NodeState(map(event, parse::node_state))
        }),
        watch(Api::<DeserializeGuard<NetworkAttachmentDefinition>>::all(all()), Kind::Definitions, |event| {
            Seen::Definition(map(event, parse::definition))
        }),
    ])
}

fn watch<K>(api: Api<K>, kind: Kind, seen: fn(Event<K>) -> Seen) -> BoxStream<'static, Change>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let waits = ExponentialBuilder::default().with_min_delay(FIRST_WAIT).with_max_delay(LONGEST_WAIT).with_factor(2.0);
    let backoff = ExponentialBackoff::from(waits.without_max_times());
    let events = watcher(api, watcher::Config::default().page_size(PAGE)).backoff(backoff);
    let change = move |result: Result<Event<K>, watcher::Error>| {
        let is_begin = matches!(result, Ok(Event::Init));
        Change { kind, is_begin, result: result.map(seen).map_err(Box::new) }
    };
    events.map(change).boxed()
}

fn map<K, T>(event: Event<K>, parse: fn(&K) -> T) -> Event<T> {
    match event {
        Event::Apply(object) => Event::Apply(parse(&object)),
        Event::Delete(object) => Event::Delete(parse(&object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(parse(&object)),
        Event::InitDone => Event::InitDone,
    }
}

/// Gathers what the watches saw.
#[derive(Debug)]
pub(super) struct Observer {
    inputs: Inputs,
    /// Since they were taken last.
    changes: Changes,
    held: Pool<NodeNetwork>,
    reports: Pool<NetworkReport>,
    networks: Feed<String>,
    namespaces: Feed<String>,
    nodes: Feed<String>,
    states: Feed<String>,
    definitions: Feed<DefinitionKey>,
    /// Definitions of a first list that is not whole yet.
    early_definitions: BTreeMap<DefinitionKey, Definition>,
    failing: BTreeSet<Kind>,
}

impl Default for Observer {
    fn default() -> Self {
        Self {
            inputs: Inputs::default(),
            changes: Changes::everything(),
            held: Pool::default(),
            reports: Pool::default(),
            networks: Feed::default(),
            namespaces: Feed::default(),
            nodes: Feed::default(),
            states: Feed::default(),
            definitions: Feed::default(),
            early_definitions: BTreeMap::new(),
            failing: BTreeSet::new(),
        }
    }
}

impl Observer {
    /// Every kind was listed. Only definitions may be missing: their CRD comes with Multus.
    pub(super) fn is_complete(&self) -> bool {
        let feeds = [&self.networks, &self.namespaces, &self.nodes, &self.states];
        let has_definitions = self.definitions.is_complete() || self.failing.contains(&Kind::Definitions);
        has_definitions && feeds.iter().all(|feed| feed.is_complete())
    }

    /// What was seen and what of it changed since this was asked last, once every kind was listed.
    pub(super) fn inputs(&mut self) -> Option<(&Inputs, Changes)> {
        self.is_complete().then(|| (&self.inputs, std::mem::take(&mut self.changes)))
    }

    /// Whoever asks next knows nothing of the cluster yet. Until then no single change is kept: a standby may wait for months.
    pub(super) fn start_over(&mut self) {
        self.changes = Changes::everything();
    }

    /// Takes what a watch saw; true when a pass should look at it.
    pub(super) fn take(&mut self, Change { kind, is_begin, result }: Change) -> bool {
        match result {
            Ok(seen) => {
                if !is_begin && self.failing.remove(&kind) {
                    tracing::info!(objects = ?kind, "watching again");
                }
                self.take_seen(seen)
            }
            Err(error) => {
                let is_new = self.failing.insert(kind);
                if is_new {
                    log_failure(kind, &error);
                }
                is_new
            }
        }
    }

    fn take_seen(&mut self, seen: Seen) -> bool {
        let (inputs, changes) = (&mut self.inputs, &mut self.changes);
        let is_news = match seen {
            Seen::Network(event) => self.networks.take(&mut inputs.networks, &mut changes.networks, *event),
            Seen::Namespace(event) => self.namespaces.take(&mut inputs.namespaces, &mut changes.namespaces, event),
            Seen::Node(event) => self.nodes.take(&mut inputs.nodes, &mut changes.nodes, event),
            Seen::NodeState(mut event) => {
                share(&mut self.held, &mut self.reports, &inputs.states, &mut event);
                self.states.take(&mut inputs.states, &mut changes.states, event)
            }
            Seen::Definition(event) => match &mut inputs.definitions {
                Some(definitions) => self.definitions.take(definitions, &mut changes.definitions, event),
                None => {
                    let is_news = self.definitions.take(&mut self.early_definitions, &mut Before::new(), event);
                    if self.definitions.is_complete() {
                        inputs.definitions = Some(std::mem::take(&mut self.early_definitions));
                        changes.everything = true;
                    }
                    is_news
                }
            },
        };
        if changes.everything {
            *changes = Changes::everything();
        }
        is_news
    }
}

/// A node state takes over the entries that others have as well.
fn share(
    held: &mut Pool<NodeNetwork>,
    reports: &mut Pool<NetworkReport>,
    states: &BTreeMap<String, NodeState>,
    event: &mut Event<(String, NodeState)>,
) {
    let (Event::Apply((name, state)) | Event::InitApply((name, state))) = event else { return };
    let before = states.get(name);
    if let Some(networks) = &mut state.networks {
        held.share(networks, before.and_then(|before| before.networks.as_ref()));
    }
    if let Some(status) = &mut state.status {
        reports.share(&mut status.reports, before.and_then(|before| Some(&before.status.as_ref()?.reports)));
    }
}

fn log_failure(kind: Kind, error: &watcher::Error) {
    use watcher::Error::{InitialListFailed, NoResourceVersion, WatchError, WatchFailed, WatchStartFailed};
    let is_unknown = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.code == 404);
    let reason = match error {
        InitialListFailed(error) if kind == Kind::Definitions && is_unknown(error) => {
            tracing::warn!(
                "the cluster has no NetworkAttachmentDefinitions: install Multus; looking again until it is there"
            );
            return;
        }
        InitialListFailed(error) | WatchStartFailed(error) | WatchFailed(error) => reason(error),
        WatchError(status) => status.message.clone(),
        NoResourceVersion => error.to_string(),
    };
    tracing::warn!(objects = ?kind, reason, "a watch failed; trying again until it works");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(seen: Seen, kind: Kind) -> Change {
        Change { kind, is_begin: false, result: Ok(seen) }
    }

    /// One that has seen every list.
    fn complete() -> Observer {
        let mut observer = Observer::default();
        let lists = [
            seen(Seen::Network(Box::new(Event::InitDone)), Kind::Networks),
            seen(Seen::Namespace(Event::InitDone), Kind::Namespaces),
            seen(Seen::Node(Event::InitDone), Kind::Nodes),
            seen(Seen::NodeState(Event::InitDone), Kind::NodeStates),
            seen(Seen::Definition(Event::InitDone), Kind::Definitions),
        ];
        for list in lists {
            assert!(!observer.is_complete());
            observer.take(list);
        }
        observer
    }

    #[test]
    fn a_standby_keeps_no_changes_and_knows_everything_when_it_leads() {
        let mut observer = complete();
        let node = |name: &str| seen(Seen::Node(Event::Apply((name.to_owned(), Node::default()))), Kind::Nodes);
        assert!(observer.take(node("one")));
        assert!(observer.changes.everything && observer.changes.nodes.is_empty());
        assert!(observer.inputs().is_some_and(|(inputs, changes)| changes.everything && inputs.nodes.len() == 1));
        assert!(observer.take(node("two")));
        assert!(observer.inputs().is_some_and(|(_, changes)| !changes.everything && changes.nodes.len() == 1));
        observer.take(node("three"));
        observer.start_over();
        observer.take(node("four"));
        assert!(observer.inputs().is_some_and(|(_, changes)| changes.everything && changes.nodes.is_empty()));
    }
}
