//! Which NetworkAttachmentDefinitions a network should have, pure. Each pair of network and namespace is decided by itself.

use super::Stage;
use crate::controller::cache::definitions::fingerprint;
use crate::controller::cache::{Cache, DefinitionKey, Namespace, Network};
use crate::controller::write::Write;
use kube::core::SelectorExt;
use usnet_crds::definition;
use usnet_crds::device::resource_name;
use usnet_crds::network::{Definitions, SHARED_NAMESPACE, SYSTEM_NAMESPACES};
use usnet_crds::validate::ValidNetwork;

/// A NetworkAttachmentDefinition that should be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desired {
    /// The configuration, as JSON text.
    pub config: String,
    /// The uid of the network that owns it.
    pub owner: String,
    /// The resource that its pods request, if the network is one.
    pub resource: Option<String>,
}

impl Desired {
    /// What each definition of a network should say.
    pub fn of(network: &Network, valid: &ValidNetwork) -> Self {
        Self {
            config: definition::config(&valid.name),
            owner: network.uid.clone(),
            resource: valid.device_plugin.map(|_| resource_name(&valid.name)),
        }
    }

    fn fingerprint(&self, name: &str) -> u64 {
        fingerprint(&self.config, Some(&self.owner), Some(name), self.resource.as_deref())
    }
}

/// Whether the network should have a definition in this namespace. One that was made from definitions has none of its own.
pub fn wants(network: &Network, valid: &ValidNetwork, name: &str, namespace: &Namespace) -> bool {
    let selects = || match valid.definitions {
        Definitions::Shared => name == SHARED_NAMESPACE,
        Definitions::PerNamespace if valid.namespaces.selects_all() => !SYSTEM_NAMESPACES.contains(&name),
        Definitions::PerNamespace => valid.namespaces.matches(&namespace.labels),
    };
    !namespace.is_deleting && !network.is_from_nad() && selects()
}

/// How the definitions of a network are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many should be there.
    pub desired: usize,
    /// How many of these are.
    pub present: usize,
    /// Of the namespaces that have a definition of the same name which is not usnet's, the first.
    pub first_conflict: Option<String>,
    /// How many such namespaces there are. They are not among the desired ones.
    pub conflicts: usize,
}

/// Compares what should be there with what is.
pub fn progress(cache: &Cache, name: &str, network: &Network, valid: &ValidNetwork) -> Progress {
    let desired = Desired::of(network, valid).fingerprint(name);
    let mut progress = Progress::default();
    for (namespace, _) in cache.namespaces.iter().filter(|(key, namespace)| wants(network, valid, key, namespace)) {
        if cache.definitions.is_taken(name, namespace) {
            progress.conflicts += 1;
            progress.first_conflict.get_or_insert_with(|| namespace.clone());
        } else {
            progress.desired += 1;
            progress.present += usize::from(cache.definitions.generated(name, namespace) == Some(desired));
        }
    }
    progress
}

/// The write that one namespace needs for one network; none when it needs none. `may_delete` says that a network whose deletion was requested is in use
/// nowhere any more.
///
/// Kubernetes may end a namespace with definitions still in it, which was seen soon after a start of its API server. They cannot be used then and cannot
/// be deleted: admission looks for their namespace first. They count again when there is a namespace of that name.
pub fn write(cache: &Cache, name: &str, namespace: &str, may_delete: bool) -> Option<Write> {
    let in_cluster = cache.namespaces.get(namespace)?;
    let found = cache.definitions.generated(name, namespace);
    let key = || DefinitionKey { namespace: namespace.to_owned(), name: name.to_owned() };
    let delete = || found.map(|_| Write::DeleteDefinition { key: key() });
    let Some(network) = cache.networks.get(name) else { return delete() };
    match (Stage::of(network), &network.spec) {
        (Stage::Active, Ok(valid)) if wants(network, valid, namespace, in_cluster) => {
            let desired = Desired::of(network, valid);
            let is_present = found == Some(desired.fingerprint(name));
            let needed = !is_present && !cache.definitions.is_taken(name, namespace);
            needed.then(|| Write::Definition { key: key(), desired })
        }
        // What is in a namespace that is being deleted goes with it.
        (Stage::Active, _) => delete().filter(|_| !in_cluster.is_deleting),
        (Stage::Deleting, _) => delete().filter(|_| may_delete),
        (Stage::New | Stage::Rejected { .. }, _) => None,
    }
}

/// The first namespace after `after` that needs a write for this network, with the write.
pub fn next_write(
    cache: &Cache,
    name: &str,
    after: Option<&str>,
    may_delete: bool,
    is_busy: impl Fn(&str) -> bool,
) -> Option<(String, Write)> {
    use std::ops::Bound::{Excluded, Unbounded};
    let rest = cache.namespaces.range::<str, _>((after.map_or(Unbounded, Excluded), Unbounded));
    let mut open = rest.filter(|(namespace, _)| !is_busy(namespace));
    open.find_map(|(namespace, _)| Some((namespace.clone(), write(cache, name, namespace, may_delete)?)))
}

/// Whether definitions of the network are left that can be deleted.
pub fn are_left(cache: &Cache, name: &str) -> bool {
    cache.definitions.namespaces_of(name).any(|namespace| cache.namespaces.contains_key(namespace))
}
