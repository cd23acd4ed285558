//! Reads pods, the interfaces that they have without a NetworkAttachmentDefinition (by resource
//! claims, and by UserspaceAttachments), reservations, and policies (IO).

use super::cluster::{Cluster, Listed, Scope};
use super::read::{is_unknown_kind, optional};
use crate::error::Error;
use crate::model::claim::ResourceClaim;
use crate::model::{Added, Claim, Objects, Pod, Snapshot, Unread};
use crate::output::{API_SERVER, waiting};
use k8s_openapi::api::core::v1;
use usnet_controller::cache::parse;
use usnet_controller::cache::partial_objects::ReservationObject;
use usnet_crds::{CompiledPolicy, Policies, UserspaceAttachment, UserspacePodSlice};

/// Reads the pods of the chosen namespace, or of all namespaces, with their interfaces. For users
/// who may not read those of all, it reads the ones in the namespace of the context.
pub(crate) async fn read_pods(cluster: &Cluster, snapshot: &mut Snapshot) {
    snapshot.unread_objects.remove(&Objects::Pods);
    let mut scope = cluster.chosen_namespace.as_deref().map_or(Scope::Cluster, Scope::Namespace);
    let mut listed = waiting(API_SERVER, cluster.list(scope, None, |pod: v1::Pod| Pod::from(pod))).await;
    if let (Err(error @ Error::Forbidden { .. }), Scope::Cluster) = (&listed, scope) {
        scope = Scope::Namespace(cluster.namespace());
        let own = cluster.list(scope, None, |pod: v1::Pod| Pod::from(pod)).await;
        if own.is_ok() {
            let what = format!("pods outside of namespace {}", cluster.namespace());
            snapshot.unread.push(Unread { what, why: error.sentence() });
            listed = own;
        }
    }
    snapshot.pods = optional(snapshot, Objects::Pods, "pods", listed);
    read_interfaces(cluster, snapshot, scope).await;
}

/// Reads UserspaceAttachments and, if a pod of the snapshot has any, resource claims.
pub(crate) async fn read_interfaces(cluster: &Cluster, snapshot: &mut Snapshot, scope: Scope<'_>) {
    snapshot.unread_objects.remove(&Objects::Added);
    let added = cluster.list(scope, None, |object: UserspaceAttachment| Added::from(object)).await;
    let added = optional(snapshot, Objects::Added, "UserspaceAttachments", existing(added));
    snapshot.added.extend(added);
    snapshot.unread_objects.remove(&Objects::Claims);
    if snapshot.pods.iter().any(|pod| !pod.claims.is_empty() || !pod.resources.is_empty()) {
        let claims = cluster.list(scope, None, |object: ResourceClaim| Claim::from(object)).await;
        let claims = optional(snapshot, Objects::Claims, "ResourceClaims", existing(claims));
        snapshot.claims.extend(claims);
    }
}

/// Reads the UserspaceReservations of a namespace.
pub(crate) async fn read_reservations(cluster: &Cluster, snapshot: &mut Snapshot, namespace: &str) {
    let scope = Scope::Namespace(namespace);
    let listed = cluster.list(scope, None, |object: ReservationObject| parse::reservation(&object)).await;
    let listed = optional(snapshot, Objects::Reservations, "UserspaceReservations", existing(listed));
    snapshot.cache.reservations.objects.extend(listed);
}

/// Reads what nodes enforce of policies, if a network has policies. Users who may not read networks
/// are told so already.
pub(crate) async fn read_policies(cluster: &Cluster, snapshot: &mut Snapshot) {
    let specs = snapshot.cache.networks.values().filter_map(|network| network.spec.as_ref().ok());
    if !specs.map(|valid| valid.policies).any(Policies::are_enabled) {
        return;
    }
    snapshot.unread_objects.remove(&Objects::Policies);
    let listed = cluster.list(Scope::Cluster, None, |object: CompiledPolicy| object.spec).await;
    snapshot.policies = optional(snapshot, Objects::Policies, "CompiledPolicies", listed);
    let listed = cluster.list(Scope::Cluster, None, |object: UserspacePodSlice| object.spec).await;
    snapshot.pod_slices = optional(snapshot, Objects::Policies, "UserspacePodSlices", existing(listed));
}

/// Where the API server does not know a kind, there are no objects of it.
pub(super) fn existing<T>(listed: Result<Listed<T>, Error>) -> Result<Listed<T>, Error> {
    match listed {
        Err(error) if is_unknown_kind(&error) => Ok(Listed { objects: Vec::new(), unreadable: Vec::new() }),
        listed => listed,
    }
}
