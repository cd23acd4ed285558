//! What becomes of each NetworkAttachmentDefinition, by the function that the controller decides
//! with. Pure.

use crate::controller::cache::nads::{NadKey, UserNad};
use crate::controller::cache::{Cache, Network};
use crate::controller::legacy::{self, LegacyEvaluation, Options};
use crate::controller::write::Write;
use crate::kubectl::model::Gap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_crds::legacy::{Legacy, NadConfig};

/// The keys of each definition that have no effect.
pub(super) type Ignored = BTreeMap<NadKey, Vec<String>>;

/// The answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub definitions: Vec<Definition>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Gap>,
}

/// A NetworkAttachmentDefinition for the plugin `userspace` that names no network of usnet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Definition {
    pub namespace: String,
    pub name: String,
    /// Whether its pods can be attached.
    pub works: bool,
    /// The engine by its name in the API; none if the definition cannot be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<&'static str>,
    /// The bridge that it names, or the id of the bridge domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
    /// The network that its pods attach to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Why it does not work, or what to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Keys of `host` that have no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

impl Report {
    pub(super) fn has_rejected(&self) -> bool {
        self.definitions.iter().any(|definition| !definition.works)
    }
}

/// All definitions are evaluated together, and those of `namespace` are in the report; without one
/// those of all.
pub(super) fn report(cache: &Cache, ignored: &Ignored, namespace: Option<&str>, gaps: Vec<Gap>) -> Report {
    let evaluation = legacy::evaluate(cache, &Options::default());
    let nads = cache.nads.user_nads().iter();
    let chosen = nads.filter(|(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace));
    let definitions = chosen.filter_map(|(key, nad)| definition(cache, &evaluation, key, nad, ignored));
    Report { definitions: definitions.collect(), not_read: gaps }
}

fn definition(
    cache: &Cache,
    evaluation: &LegacyEvaluation,
    key: &NadKey,
    nad: &UserNad,
    ignored: &Ignored,
) -> Option<Definition> {
    let legacy = match &nad.config {
        Ok(NadConfig::Network(_)) => return None,
        Ok(NadConfig::Legacy(legacy)) => Some(legacy),
        Err(_) => None,
    };
    let is_of = |record: &&crate::controller::events::EventRecord| {
        let regarding = &record.regarding;
        (regarding.namespace.as_deref(), regarding.name.as_deref()) == (Some(&key.namespace), Some(&key.name))
    };
    let messages: Vec<_> = evaluation.records.iter().filter(is_of).map(|record| record.message.clone()).collect();
    let works = legacy.is_some_and(|legacy| messages.is_empty() || defines(cache, evaluation, key, legacy));
    Some(Definition {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        works,
        engine: legacy.map(|legacy| legacy.engine.traits().api_name),
        bridge: legacy.map(|legacy| legacy.bridge.to_string()),
        network: legacy.filter(|_| works).map(|legacy| network_of(cache, legacy)),
        messages,
        ignored: ignored.get(key).cloned().unwrap_or_default(),
    })
}

/// Whether the network of its bridge follows from this definition: one that disagrees with it is
/// reported at both, and only the other one is rejected.
fn defines(cache: &Cache, evaluation: &LegacyEvaluation, key: &NadKey, legacy: &Legacy) -> bool {
    let name = legacy.network_name();
    let is_created = |write: &Write| matches!(write, Write::NetworkFromNad { network, .. } if network == name.as_str());
    let exists = cache.networks.get(name.as_str()).is_some_and(Network::is_from_nad);
    let members = cache.nads.user_nads().iter().filter(|(_, nad)| match &nad.config {
        Ok(NadConfig::Legacy(other)) => (other.engine, &other.bridge) == (legacy.engine, &legacy.bridge),
        _ => false,
    });
    let oldest = members.min_by_key(|(key, nad)| (nad.created.clone(), *key)).map(|(key, _)| key);
    (exists || evaluation.writes.iter().any(is_created)) && oldest == Some(key)
}

/// That of a user, or the one that is generated.
fn network_of(cache: &Cache, legacy: &Legacy) -> String {
    let valid = cache.networks.values().filter_map(|network| network.spec.as_ref().ok());
    let of_bridge = valid.filter(|valid| (valid.engine, &valid.bridge.name) == (legacy.engine, &legacy.bridge));
    let names: BTreeSet<_> = of_bridge.map(|valid| valid.name.to_string()).collect();
    if names.is_empty() { legacy.network_name().to_string() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
}
