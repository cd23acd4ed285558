//! All objects of usnet, with what could not be read.

use super::cluster::{Cluster, Listed, Scope};
use crate::controller::cache::parse;
use crate::controller::cache::partial_objects::{
    CompiledObject, NadObject, NamespaceObject, NetworkObject, NodeObject, NodeStateObject, UplinkObject,
};
use crate::kubectl::error::Error;
use crate::kubectl::model::snapshot::name_of;
use crate::kubectl::model::{Gap, Part, Pod, Snapshot};
use crate::leader::LEASE_NAME;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1;
use k8s_openapi::jiff::Timestamp;

/// Why a cluster has no NetworkAttachmentDefinitions, which is no problem.
pub(crate) const WITHOUT_MULTUS: &str = "Multus is not installed";

/// Networks, compiled networks, uplinks, nodes with their states, namespaces, and the pods of
/// usnet.
///
/// # Errors
/// When networks or node states cannot be read: every answer needs them.
pub(crate) async fn read_usnet(cluster: &Cluster) -> Result<Snapshot, Error> {
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
    snapshot.cache.networks.extend(need(&mut snapshot.gaps, "networks", networks)?);
    for state in need(&mut snapshot.gaps, "node states", states)? {
        if state.status.is_some() && parse::node_state(&state).1.status.is_none() {
            let (what, why) = (format!("the state of node {}", name_of(&state)), "its agent is of another release");
            snapshot.gaps.push(Gap { what, why: why.to_owned() });
        }
        snapshot.add_state(&state);
    }
    let compiled = optional(&mut snapshot, Part::Compiled, "compiled networks", compiled);
    snapshot.cache.compiled.extend(compiled);
    let uplinks = optional(&mut snapshot, Part::Uplinks, "uplinks", uplinks);
    snapshot.cache.uplinks.extend(uplinks);
    let nodes = optional(&mut snapshot, Part::Nodes, "nodes", nodes);
    snapshot.cache.nodes.extend(nodes);
    if !snapshot.knows(Part::Nodes) {
        snapshot.derive_nodes();
    }
    let namespaces = optional(&mut snapshot, Part::Namespaces, "namespaces", namespaces);
    snapshot.cache.namespaces.extend(namespaces);
    let what = format!("pods in {}", cluster.usnet_namespace);
    snapshot.usnet_pods = optional(&mut snapshot, Part::UsnetPods, &what, pods);
    match lease {
        Ok(lease) => snapshot.leader = lease.and_then(|lease| lease.spec?.holder_identity).filter(|it| !it.is_empty()),
        Err(error) => snapshot.lacks(Part::Lease, &format!("Lease {LEASE_NAME}"), error.sentence()),
    }
    snapshot.unread.extend([Part::Definitions, Part::Pods, Part::Events]);
    Ok(snapshot)
}

/// Reads NetworkAttachmentDefinitions into the snapshot.
pub(crate) async fn read_definitions(cluster: &Cluster, snapshot: &mut Snapshot) {
    snapshot.unread.remove(&Part::Definitions);
    let listed = cluster.list(Scope::Cluster, None, |object: NadObject| parse::nad(&object)).await;
    let definitions = match listed {
        Err(error @ Error::Read { .. }) if is_missing(&error) => {
            snapshot.lacks(Part::Definitions, "NetworkAttachmentDefinitions", WITHOUT_MULTUS);
            return;
        }
        listed => optional(snapshot, Part::Definitions, "NetworkAttachmentDefinitions", listed),
    };
    snapshot.definitions.extend(definitions);
}

/// Objects that every answer needs.
///
/// # Errors
/// When they cannot be read, or their CRD is missing.
pub(crate) fn need<T>(gaps: &mut Vec<Gap>, what: &str, listed: Result<Listed<T>, Error>) -> Result<Vec<T>, Error> {
    match listed {
        Ok(listed) => {
            gaps.extend(unreadable(what, &listed));
            Ok(listed.objects)
        }
        Err(error) if is_missing(&error) => {
            let Error::Read { what, .. } = error else { return Err(error) };
            Err(Error::NotInstalled(format!("{what}.usnet.dev")))
        }
        Err(error) => Err(error),
    }
}

/// Objects that an answer can do without.
pub(crate) fn optional<T>(snapshot: &mut Snapshot, part: Part, what: &str, listed: Result<Listed<T>, Error>) -> Vec<T> {
    match listed {
        Ok(listed) => {
            snapshot.gaps.extend(unreadable(what, &listed));
            listed.objects
        }
        Err(error) => {
            snapshot.lacks(part, what, error.sentence());
            Vec::new()
        }
    }
}

/// What could be listed, and not parsed.
pub(crate) fn unreadable<T>(what: &str, listed: &Listed<T>) -> Vec<Gap> {
    let gap = |(name, problem): &(String, String)| Gap { what: format!("{name} of {what}"), why: problem.clone() };
    listed.unreadable.iter().map(gap).collect()
}

/// The API server does not know the kind of object.
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error, Error::Read { source, .. } if crate::kubectl::error::status_code(source) == Some(404))
}
