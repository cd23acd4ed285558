//! Reads a single object, as a watch would show it (IO).

use super::update::{ObjectEvent, WatchUpdate};
use crate::cache::attachments::{FoundPod, ObjectName};
use crate::cache::parse;
use crate::cache::partial_objects::{
    AttachmentObject, CompiledObject, NadObject, NetworkObject, NodeSliceObject, NodeStateObject, PodObject,
    ReservationObject, UplinkObject,
};
use crate::write::Target;
use kube::api::ListParams;
use kube::runtime::watcher::Event;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use usnet_crds::node_selection::resource_version;

/// Reads the current object of a target, after a write with an unknown outcome.
///
/// # Errors
/// When the API server does not respond.
pub(crate) async fn read(client: Client, target: &Target) -> Result<WatchUpdate, kube::Error> {
    match target {
        Target::Finalizer(name) | Target::Status(name) | Target::NetworkFromNad(name) => {
            find(Api::<NetworkObject>::all(client), name, |object| {
                ObjectEvent::Network(Box::new(Event::Apply(parse::network(object))))
            })
            .await
        }
        Target::Compiled(name) => {
            find(Api::<CompiledObject>::all(client), name, |object| {
                ObjectEvent::Compiled(Event::Apply(parse::compiled(object)))
            })
            .await
        }
        Target::NodeState(name) | Target::NodeAttachments(name) => {
            find(Api::<NodeStateObject>::all(client), name, |object| {
                ObjectEvent::NodeState(Event::Apply(parse::node_state(object)))
            })
            .await
        }
        Target::NodeSlice(name) => {
            find(Api::<NodeSliceObject>::all(client), name, |object| {
                ObjectEvent::NodeSlice(Event::Apply(parse::node_slice(object)))
            })
            .await
        }
        Target::UplinkFinalizer(name) | Target::UplinkStatus(name) => {
            find(Api::<UplinkObject>::all(client), name, |object| {
                ObjectEvent::Uplink(Box::new(Event::Apply(parse::uplink(object))))
            })
            .await
        }
        Target::AttachmentMetadata(name) | Target::AttachmentStatus(name) => {
            find(Api::<AttachmentObject>::namespaced(client, &name.namespace), &name.name, |object| {
                ObjectEvent::Attachment(Box::new(Event::Apply(parse::attachment(object))))
            })
            .await
        }
        Target::ReservationStatus(name) => reservation(client, name).await,
        Target::Pod(name) => pod(client, name).await.map(Some),
        Target::Nad(key) => {
            let api = Api::<NadObject>::namespaced(client, &key.namespace);
            find(api, &key.name, |object| ObjectEvent::Nad(Event::Apply(parse::nad(object)))).await
        }
    }
    .map(|found| found.unwrap_or_else(|| WatchUpdate::absent(target)))
}

async fn reservation(client: Client, name: &ObjectName) -> Result<Option<WatchUpdate>, kube::Error> {
    find(Api::<ReservationObject>::namespaced(client, &name.namespace), &name.name, |object| {
        ObjectEvent::Reservation(Box::new(Event::Apply(parse::reservation(object))))
    })
    .await
}

/// Pods may be read one by one and not be listed.
async fn pod(client: Client, name: &ObjectName) -> Result<WatchUpdate, kube::Error> {
    let found = Api::<PodObject>::namespaced(client, &name.namespace).get_opt(&name.name).await?;
    let pod = found.as_ref().map_or(FoundPod::Absent, parse::pod);
    Ok(WatchUpdate::found(0, ObjectEvent::Pod(name.clone(), pod)))
}

/// Lists a single object, so that the verb `list` suffices.
async fn find<K>(api: Api<K>, name: &str, seen: fn(&K) -> ObjectEvent) -> Result<Option<WatchUpdate>, kube::Error>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let list = api.list(&ListParams::default().fields(&format!("metadata.name={name}"))).await?;
    let change =
        |object: &K| WatchUpdate::found(resource_version(object.meta().resource_version.as_deref()), seen(object));
    Ok(list.items.first().map(change))
}
