//! What changed in the node file: a line of it.

use super::{NodeFile, RefusedNetwork};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use usnet_crds::{EngineKind, NetworkName, NodeNetwork, NodeUplink, UplinkName};

/// How one content differs from the one before. Networks that are not named stay as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NodeFileChange {
    generation: i64,
    through: u64,
    /// Networks that are removed before the others are added or replaced.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    removed: BTreeSet<NetworkName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    networks: Vec<Arc<NodeNetwork>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    versions: BTreeMap<NetworkName, u64>,
    /// All of them; none if they are the same as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refused: Option<Vec<RefusedNetwork>>,
    /// All of them; none if they are the same as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    uplinks: Option<BTreeMap<UplinkName, Arc<NodeUplink>>>,
    engines_seen: BTreeSet<EngineKind>,
    epochs: BTreeMap<EngineKind, u64>,
}

impl NodeFileChange {
    pub(super) fn between(last: &NodeFile, file: &NodeFile) -> Self {
        let before: BTreeMap<_, _> = last.networks.iter().map(|network| (&network.name, network)).collect();
        let present: BTreeSet<_> = file.networks.iter().map(|network| &network.name).collect();
        let no_network = before.keys().copied().filter(|name| !present.contains(name));
        let no_version = last.versions.keys().filter(|name| !file.versions.contains_key(*name));
        let removed: BTreeSet<NetworkName> = no_network.chain(no_version).cloned().collect();
        let is_changed =
            |network: &&Arc<NodeNetwork>| removed.contains(&network.name) || before.get(&network.name) != Some(network);
        let has_new_version = |(name, version): &(&NetworkName, &u64)| {
            removed.contains(*name) || last.versions.get(*name) != Some(*version)
        };
        let versions = file.versions.iter().filter(has_new_version);
        Self {
            generation: file.generation,
            through: file.through,
            networks: file.networks.iter().filter(is_changed).cloned().collect(),
            versions: versions.map(|(name, version)| (name.clone(), *version)).collect(),
            removed,
            refused: (last.refused != file.refused).then(|| file.refused.clone()),
            uplinks: (last.uplinks != file.uplinks).then(|| file.uplinks.clone()),
            engines_seen: file.engines_seen.clone(),
            epochs: file.epochs.clone(),
        }
    }

    pub(super) fn apply_to(self, file: &mut NodeFile) {
        let Self { generation, through, removed, networks, versions, refused, uplinks, engines_seen, epochs } = self;
        let kept = std::mem::take(&mut file.networks).into_iter().filter(|network| !removed.contains(&network.name));
        let all: BTreeMap<_, _> = kept.chain(networks).map(|network| (network.name.clone(), network)).collect();
        file.networks = all.into_values().collect();
        file.versions.retain(|name, _| !removed.contains(name));
        file.versions.extend(versions);
        if let Some(refused) = refused {
            file.refused = refused;
        }
        if let Some(uplinks) = uplinks {
            file.uplinks = uplinks;
        }
        (file.generation, file.through, file.engines_seen, file.epochs) = (generation, through, engines_seen, epochs);
    }
}
