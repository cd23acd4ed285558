//! Watch (IO): all watches of the controller, merged into one stream of updates. They reconnect to
//! an unreachable API server with exponential back-off; meanwhile the cache is kept.

pub(crate) mod objects;
mod observer;
pub(crate) mod parse;

pub(super) use observer::{Observation, Observer};

use super::cache::{Compiled, Nad, NadKey, Namespace, Network, Node, NodeState};
use super::write::Target;
use super::write::guards::DELETED;
use crate::watch::watch as follow;
use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll, select_all};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use objects::{CompiledObject, NadObject, NamespaceObject, NetworkObject, NodeObject, NodeStateObject};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use usnet_crds::node_selection::resource_version;

/// The page size of lists. A page is buffered while it is read; each object is a few KB.
const PAGE: u32 = 500;
/// The page size of lists of NADs: one may have a megabyte, and a tenant may create many.
const NAD_PAGE: u32 = 50;

/// The watched kinds. Their `Debug` form is a field of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Networks,
    Compiled,
    Namespaces,
    Nodes,
    NodeStates,
    Definitions,
}

/// An event of one kind. Networks are boxed, as they are the largest.
#[derive(Debug)]
pub(super) enum ObjectEvent {
    Network(Box<Event<(String, Network)>>),
    Compiled(Event<(String, Compiled)>),
    Namespace(Event<(String, Namespace)>),
    Node(Event<(String, Node)>),
    NodeState(Event<(String, NodeState)>),
    Nad(Event<(NadKey, Nad)>),
    /// The object of this target was read and does not exist.
    Absent(Target),
}

/// An event with the resourceVersion of its object, or the error of a watch.
#[derive(Debug)]
pub(super) struct WatchUpdate {
    kind: Kind,
    version: u64,
    result: Result<ObjectEvent, Box<watcher::Error>>,
}

impl WatchUpdate {
    /// An object that was read.
    pub(super) fn found(version: u64, seen: ObjectEvent) -> Self {
        let kind = match &seen {
            ObjectEvent::Network(_) => Kind::Networks,
            ObjectEvent::Compiled(_) => Kind::Compiled,
            ObjectEvent::Namespace(_) => Kind::Namespaces,
            ObjectEvent::Node(_) => Kind::Nodes,
            ObjectEvent::NodeState(_) => Kind::NodeStates,
            ObjectEvent::Nad(_) | ObjectEvent::Absent(_) => Kind::Definitions,
        };
        Self { kind, version, result: Ok(seen) }
    }

    /// An object that was read and does not exist.
    pub(super) fn absent(target: &Target) -> Self {
        Self::found(DELETED, ObjectEvent::Absent(target.clone()))
    }
}

/// All watches as one stream.
pub(super) fn changes(client: &Client) -> SelectAll<BoxStream<'static, WatchUpdate>> {
    let all = || client.clone();
    select_all([
        watch(Api::<NetworkObject>::all(all()), Kind::Networks, |event| {
            ObjectEvent::Network(Box::new(map(event, parse::network)))
        }),
        watch(Api::<CompiledObject>::all(all()), Kind::Compiled, |event| {
            ObjectEvent::Compiled(map(event, parse::compiled))
        }),
        watch(Api::<NamespaceObject>::all(all()), Kind::Namespaces, |event| {
            ObjectEvent::Namespace(map(event, parse::namespace))
        }),
        watch(Api::<NodeObject>::all(all()), Kind::Nodes, |event| ObjectEvent::Node(map(event, parse::node))),
        watch(Api::<NodeStateObject>::all(all()), Kind::NodeStates, |event| {
            ObjectEvent::NodeState(map(event, parse::node_state))
        }),
        watch(Api::<NadObject>::all(all()), Kind::Definitions, |event| ObjectEvent::Nad(map(event, parse::nad))),
    ])
}

fn watch<K>(api: Api<K>, kind: Kind, seen: fn(Event<K>) -> ObjectEvent) -> BoxStream<'static, WatchUpdate>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let page = if kind == Kind::Definitions { NAD_PAGE } else { PAGE };
    let change = move |result: Result<Event<K>, watcher::Error>| {
        let version = match &result {
            Ok(Event::Apply(object) | Event::InitApply(object)) => {
                resource_version(object.meta().resource_version.as_deref())
            }
            Ok(Event::Delete(_)) => DELETED,
            _ => 0,
        };
        WatchUpdate { kind, version, result: result.map(seen).map_err(Box::new) }
    };
    follow(api, watcher::Config::default().page_size(page)).map(change).boxed()
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
