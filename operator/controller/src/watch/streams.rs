//! The watches (IO).

use super::update::{Kind, ObjectEvent, WatchUpdate};
use crate::cache::parse;
use crate::cache::partial_objects::{
    AttachmentObject, CompiledObject, NadObject, NamespaceObject, NetworkObject, NodeObject, NodeSliceObject,
    NodeStateObject, ReservationObject, UplinkObject,
};
use crate::write::guards::DELETED;
use futures::StreamExt;
use futures::stream::{BoxStream, SelectAll, select_all};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use usnet_common::api::reflector;
use usnet_common::api::watch::watch as follow;
use usnet_crds::node_selection::resource_version;

/// The page size of lists. A page is buffered while it is read; each object is a few KB. Smaller
/// pages cost the API server more requests, larger ones the controller more memory.
const PAGE: u32 = 500;
/// The page size of lists of objects that tenants write: one may have a megabyte, and most of it is
/// removed while it arrives, but the API server has whole pages in its memory.
const TENANTS_PAGE: u32 = 50;

/// All watches as one stream, that of attachments only where these are enabled.
pub(crate) fn changes(client: &Client, has_attachments: bool) -> SelectAll<BoxStream<'static, WatchUpdate>> {
    let all = || client.clone();
    let attachments = has_attachments.then(|| {
        watch(Api::<AttachmentObject>::all(all()), Kind::Attachments, |event| {
            ObjectEvent::Attachment(Box::new(map(event, parse::attachment)))
        })
    });
    let always = [
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
        watch(Api::<NodeSliceObject>::all(all()), Kind::NodeSlices, |event| {
            ObjectEvent::NodeSlice(map(event, parse::node_slice))
        }),
        watch(Api::<UplinkObject>::all(all()), Kind::Uplinks, |event| {
            ObjectEvent::Uplink(Box::new(map(event, parse::uplink)))
        }),
        watch(Api::<ReservationObject>::all(all()), Kind::Reservations, |event| {
            ObjectEvent::Reservation(Box::new(map(event, parse::reservation)))
        }),
        watch(Api::<NadObject>::all(all()), Kind::Nads, |event| ObjectEvent::Nad(map(event, parse::nad))),
    ];
    select_all(always.into_iter().chain(attachments))
}

fn watch<K>(api: Api<K>, kind: Kind, seen: fn(Event<K>) -> ObjectEvent) -> BoxStream<'static, WatchUpdate>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let page = if matches!(kind, Kind::Nads | Kind::Attachments | Kind::Reservations) { TENANTS_PAGE } else { PAGE };
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
    reflector::map(event, |object| parse(&object))
}
