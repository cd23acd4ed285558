//! Reads UserspaceEngines, and what a node has to be prepared by (IO).

use super::cluster::{Cluster, Scope};
use super::pods::existing;
use super::read::optional;
use crate::error::Error;
use crate::model::engine::{Engine, node_facts};
use crate::model::{Objects, Pod, Snapshot};
use crate::output::{API_SERVER, waiting};
use k8s_openapi::api::core::v1;
use usnet_crds::UserspaceEngine;
use usnet_crds::userspace_engine::NAMESPACE;

/// Reads UserspaceEngines.
///
/// # Errors
/// When they cannot be read and `is_essential` says that the command is about one.
pub(crate) async fn read_engines(cluster: &Cluster, snapshot: &mut Snapshot, is_essential: bool) -> Result<(), Error> {
    snapshot.unread_objects.remove(&Objects::Engines);
    let listed =
        waiting(API_SERVER, cluster.list(Scope::Cluster, None, |object: UserspaceEngine| Engine::of(object))).await;
    let listed = existing(listed);
    let engines = match listed {
        Err(error) if is_essential => return Err(error),
        listed => optional(snapshot, Objects::Engines, "UserspaceEngines", listed),
    };
    snapshot.engines.extend(engines);
    Ok(())
}

/// Reads the pods of engines and of their controller; none without a UserspaceEngine.
pub(crate) async fn read_engine_pods(cluster: &Cluster, snapshot: &Snapshot) -> Result<Vec<Pod>, Error> {
    if snapshot.engines.is_empty() {
        return Ok(Vec::new());
    }
    Ok(cluster.list(Scope::Namespace(NAMESPACE), None, |pod: v1::Pod| Pod::from(pod)).await?.objects)
}

/// Reads the distribution and the hugepages of a node. Users who may not read nodes are told so
/// already.
pub(crate) async fn read_node_facts(cluster: &Cluster, snapshot: &mut Snapshot, name: &str) {
    let fields = format!("metadata.name={name}");
    let listed = cluster.list(Scope::Cluster, Some(&fields), |node: v1::Node| node_facts(node)).await;
    snapshot.node_facts = listed.ok().and_then(|listed| listed.objects.into_iter().next());
}
