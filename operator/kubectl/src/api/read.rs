//! Reads the objects of usnet, and records what could not be read.

use super::cluster::{Cluster, Listed, Scope};
use crate::error::Error;
use crate::model::snapshot::name_of;
use crate::model::{Objects, Pod, Snapshot, Unread};
use crate::output::{API_SERVER, waiting};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1;
use k8s_openapi::jiff::Timestamp;
use usnet_controller::LEASE_NAME;
use usnet_controller::cache::parse;
use usnet_controller::cache::partial_objects::{
    CompiledObject, NadObject, NamespaceObject, NetworkObject, NodeObject, NodeStateObject, UplinkObject,
};

/// Why a cluster has no NetworkAttachmentDefinitions; this is not a problem.
pub(crate) const MULTUS_MISSING: &str = "Multus is not installed";

/// Whether a command can do without networks and node states.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Essential,
    IfAllowed,
}

/// Reads networks, compiled networks, uplinks, nodes with their states, namespaces, and the pods of
/// usnet.
///
/// # Errors
/// When networks or node states cannot be read.
pub(crate) async fn read_usnet(cluster: &Cluster) -> Result<Snapshot, Error> {
    waiting(API_SERVER, read(cluster, Need::Essential)).await
}

/// Reads the same for the commands about pods, which users run who have rights in their own
/// namespace only.
///
/// # Errors
/// When networks or node states cannot be read for another reason than a missing right.
pub(crate) async fn read_allowed(cluster: &Cluster) -> Result<Snapshot, Error> {
    waiting(API_SERVER, read(cluster, Need::IfAllowed)).await
}

async fn read(cluster: &Cluster, need: Need) -> Result<Snapshot, Error> {
    let mut snapshot = Snapshot { now: Timestamp::now(), ..Snapshot::default() };
    let (networks, states, compiled, uplinks, nodes, namespaces, pods, lease) = futures::join!(
        cluster.list(Scope::Cluster, None, |object: NetworkObject| parse::network(&object)),
        cluster.list(Scope::Cluster, None, |object: NodeStateObject| object),
        cluster.list(Scope::Cluster, None, |object: CompiledObject| parse::compiled(&object)),
        cluster.list(Scope::Cluster, None, |object: UplinkObject| parse::uplink(&object)),
        cluster.list(Scope::Cluster, None, |object: NodeObject| parse::node(&object)),
        cluster.list(Scope::Cluster, None, |object: NamespaceObject| parse::namespace(&object)),
        cluster.list(Scope::Namespace(&cluster.usnet_namespace), None, |pod: v1::Pod| Pod::from(pod)),
        cluster.get::<Lease>(Scope::Namespace(&cluster.usnet_namespace), LEASE_NAME),
    );
    let networks = needed(&mut snapshot, (Objects::Networks, "networks"), networks, need)?;
    snapshot.cache.networks.extend(networks);
    for state in needed(&mut snapshot, (Objects::States, "node states"), states, need)? {
        if state.status.is_some() && parse::node_state(&state).1.status.is_none() {
            let (what, why) = (format!("the state of node {}", name_of(&state)), "its agent is of another release");
            snapshot.unread.push(Unread { what, why: why.to_owned() });
        }
        snapshot.add_state(&state);
    }
    let compiled = optional(&mut snapshot, Objects::Compiled, "compiled networks", compiled);
    snapshot.cache.compiled.extend(compiled);
    let uplinks = optional(&mut snapshot, Objects::Uplinks, "uplinks", uplinks);
    snapshot.cache.uplinks.extend(uplinks);
    let nodes = optional(&mut snapshot, Objects::Nodes, "nodes", nodes);
    snapshot.cache.nodes.extend(nodes);
    if !snapshot.has_read(Objects::Nodes) {
        snapshot.derive_nodes();
    }
    let namespaces = optional(&mut snapshot, Objects::Namespaces, "namespaces", namespaces);
    snapshot.cache.namespaces.extend(namespaces);
    let what = format!("pods in {}", cluster.usnet_namespace);
    snapshot.usnet_pods = optional(&mut snapshot, Objects::UsnetPods, &what, pods);
    match lease {
        Ok(lease) => snapshot.leader = lease.and_then(|lease| lease.spec?.holder_identity).filter(|it| !it.is_empty()),
        Err(error) => snapshot.mark_unread(Objects::Lease, &format!("Lease {LEASE_NAME}"), error.sentence()),
    }
    let of_users = [Objects::Definitions, Objects::Pods, Objects::Added, Objects::Claims, Objects::Policies];
    snapshot.unread_objects.extend(of_users.into_iter().chain([Objects::Events, Objects::Engines]));
    Ok(snapshot)
}

/// Reads NetworkAttachmentDefinitions into the snapshot; those of the user's namespace if the
/// others may not be read.
pub(crate) async fn read_definitions(cluster: &Cluster, snapshot: &mut Snapshot) {
    read_definitions_for(cluster, snapshot, cluster.namespace()).await;
}

/// Like [`read_definitions`], for the pods of a namespace, of which the labels are read as well.
pub(crate) async fn read_definitions_for(cluster: &Cluster, snapshot: &mut Snapshot, namespace: &str) {
    if !snapshot.has_read(Objects::Namespaces)
        && let Ok(Some(object)) = cluster.get::<NamespaceObject>(Scope::Cluster, namespace).await
    {
        snapshot.cache.namespaces.extend([parse::namespace(&object)]);
    }
    snapshot.unread_objects.remove(&Objects::Definitions);
    let all = cluster.list(Scope::Cluster, None, |object: NadObject| parse::nad(&object));
    let mut listed = waiting(API_SERVER, all).await;
    if matches!(listed, Err(Error::Forbidden { .. })) {
        snapshot.definitions_namespace = Some(namespace.to_owned());
        listed = cluster.list(Scope::Namespace(namespace), None, |object: NadObject| parse::nad(&object)).await;
    }
    let definitions = match listed {
        Err(error @ Error::Read { .. }) if is_unknown_kind(&error) => {
            snapshot.mark_unread(Objects::Definitions, "NetworkAttachmentDefinitions", MULTUS_MISSING);
            return;
        }
        listed => optional(snapshot, Objects::Definitions, "NetworkAttachmentDefinitions", listed),
    };
    snapshot.definitions.extend(definitions);
}

/// Returns networks or node states.
fn needed<T>(
    snapshot: &mut Snapshot,
    (objects, what): (Objects, &str),
    listed: Result<Listed<T>, Error>,
    need: Need,
) -> Result<Vec<T>, Error> {
    match listed {
        Err(Error::Forbidden { .. }) if need == Need::IfAllowed => Ok(optional(snapshot, objects, what, listed)),
        listed => required(&mut snapshot.unread, what, listed),
    }
}

fn required<T>(unread: &mut Vec<Unread>, what: &str, listed: Result<Listed<T>, Error>) -> Result<Vec<T>, Error> {
    match listed {
        Ok(listed) => {
            unread.extend(unreadable(what, &listed));
            Ok(listed.objects)
        }
        Err(error) if is_unknown_kind(&error) => {
            let Error::Read { what, .. } = error else { return Err(error) };
            Err(Error::NotInstalled(format!("{what}.usnet.dev")))
        }
        Err(error) => Err(error),
    }
}

/// Returns objects that are not essential; none if they cannot be read, which is recorded.
pub(crate) fn optional<T>(
    snapshot: &mut Snapshot,
    objects: Objects,
    what: &str,
    listed: Result<Listed<T>, Error>,
) -> Vec<T> {
    match listed {
        Ok(listed) => {
            snapshot.unread.extend(unreadable(what, &listed));
            listed.objects
        }
        Err(error) => {
            snapshot.mark_unread(objects, what, error.sentence());
            Vec::new()
        }
    }
}

/// Returns the objects that were listed but could not be parsed.
pub(crate) fn unreadable<T>(what: &str, listed: &Listed<T>) -> Vec<Unread> {
    let entry = |(name, problem): &(String, String)| Unread { what: format!("{name} of {what}"), why: problem.clone() };
    listed.unreadable.iter().map(entry).collect()
}

/// Whether the API server does not know the kind of the requested objects.
pub(crate) fn is_unknown_kind(error: &Error) -> bool {
    matches!(error, Error::Read { source, .. } if crate::error::status_code(source) == Some(404))
}
