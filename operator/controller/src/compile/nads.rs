//! The desired NetworkAttachmentDefinitions (NADs) of a network, pure. Each pair of network and
//! namespace is decided independently.

use super::stage::Stage;
use crate::cache::fingerprint;
use crate::cache::{Cache, NadKey, Network};
use crate::write::{DesiredNad, Write};
use std::collections::BTreeMap;
use usnet_crds::conditions::message::network::{NAMESPACES_MAX, REFUSING_MAX};
use usnet_crds::device::resource_name;
use usnet_crds::nad;
use usnet_crds::validate::ValidNetwork;

/// The desired NAD of a network; the same in each namespace.
pub fn desired(network: &Network, valid: &ValidNetwork) -> DesiredNad {
    DesiredNad {
        config: nad::config(&valid.name),
        owner: network.uid.clone(),
        resource: valid.device_plugin.map(|_| resource_name(&valid.name)),
    }
}

fn fingerprint_of(desired: &DesiredNad, name: &str) -> u64 {
    fingerprint::of_nad(&desired.config, Some(&desired.owner), Some(name), desired.resource.as_deref())
}

/// How many NADs of a network are up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NadProgress {
    /// How many are desired.
    pub desired: usize,
    /// The first namespaces of these, at most [`NAMESPACES_MAX`].
    pub namespaces: Vec<String>,
    /// How many of these are up to date.
    pub present: usize,
    /// The first namespace with a NAD of the same name that usnet does not own.
    pub first_conflict: Option<String>,
    /// The number of such namespaces. They are not counted as desired.
    pub conflicts: usize,
    /// The first namespaces that refuse it, at most [`REFUSING_MAX`].
    pub refusing: Vec<String>,
    /// What the API server said about the first of these.
    pub refusal: String,
    /// The number of such namespaces. They are not counted as desired.
    pub refusals: usize,
}

/// The namespaces that refuse the NAD of a network, with the words of the API server.
pub type Refusing = BTreeMap<String, String>;

/// Compares desired with existing NADs.
pub fn progress(
    cache: &Cache,
    name: &str,
    network: &Network,
    valid: &ValidNetwork,
    refusing: &Refusing,
) -> NadProgress {
    let desired = fingerprint_of(&desired(network, valid), name);
    let mut progress = NadProgress::default();
    for (namespace, _) in cache.namespaces.iter().filter(|(key, namespace)| network.needs_nad(valid, key, namespace)) {
        if cache.nads.is_taken(name, namespace) {
            progress.conflicts += 1;
            progress.first_conflict.get_or_insert_with(|| namespace.clone());
            continue;
        }
        let is_present = cache.nads.generated(name, namespace) == Some(desired);
        if let Some(words) = refusing.get(namespace).filter(|_| !is_present) {
            progress.refusals += 1;
            if progress.refusing.is_empty() {
                progress.refusal.clone_from(words);
            }
            if progress.refusing.len() < REFUSING_MAX {
                progress.refusing.push(namespace.clone());
            }
        } else {
            progress.desired += 1;
            if progress.namespaces.len() < NAMESPACES_MAX {
                progress.namespaces.push(namespace.clone());
            }
            progress.present += usize::from(is_present);
        }
    }
    progress
}

/// The write that one network needs in one namespace; none when it needs none. `may_delete`: the
/// deletion of the network was requested and it is no longer in use.
///
/// Kubernetes may end a namespace that still contains NADs, which was observed soon after a start
/// of the API server. They can then neither be used nor deleted, because admission looks up their
/// namespace first. They count again once a namespace of that name exists.
pub fn write(cache: &Cache, name: &str, namespace: &str, may_delete: bool) -> Option<Write> {
    let in_cluster = cache.namespaces.get(namespace)?;
    let found = cache.nads.generated(name, namespace);
    let key = || NadKey { namespace: namespace.to_owned(), name: name.to_owned() };
    let delete = || found.map(|_| Write::DeleteNad { key: key() });
    let Some(network) = cache.networks.get(name) else { return delete() };
    match (Stage::of(cache, name, network), &network.spec) {
        (Stage::Active, Ok(valid)) if network.needs_nad(valid, namespace, in_cluster) => {
            let desired = desired(network, valid);
            let is_present = found == Some(fingerprint_of(&desired, name));
            let needed = !is_present && !cache.nads.is_taken(name, namespace);
            needed.then(|| Write::Nad { key: key(), desired })
        }
        // Kubernetes deletes the contents of a terminating namespace.
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

/// Whether the network has NADs that can be deleted.
pub fn has_deletable(cache: &Cache, name: &str) -> bool {
    cache.nads.namespaces_of(name).any(|namespace| cache.namespaces.contains_key(namespace))
}
