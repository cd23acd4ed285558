//! The result for each NetworkAttachmentDefinition, by the function of the controller. Pure.

use super::pods::{FolderPod, with_folders};
use crate::model::{Pod, Unread};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use usnet_controller::cache::nads::{NadKey, UserNad};
use usnet_controller::cache::{Cache, Network};
use usnet_controller::legacy::{self, LegacyEvaluation, Options};
use usnet_controller::write::Write;
use usnet_crds::legacy::{Legacy, NadConfig, Settings};
use usnet_crds::{EngineKind, PortType, SocketRole};

/// What the other role would spare the programs of pods.
const RECONNECT: &str =
    "Open vSwitch listens (host.vhost.mode is not client): when it restarts, programs have to connect again";

/// The ignored keys of each definition.
pub(super) type Ignored = BTreeMap<NadKey, Vec<String>>;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub definitions: Vec<Definition>,
    /// Pods that cannot be attached as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<FolderPod>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_read: Vec<Unread>,
}

/// A NetworkAttachmentDefinition for the plugin `userspace` that names no network of usnet.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Definition {
    pub namespace: String,
    pub name: String,
    /// Whether pods that select the definition can be attached.
    pub works: bool,
    /// The engine's name in the API; `None` if the definition cannot be parsed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<&'static str>,
    /// The name of the bridge, or the id of the bridge domain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bridge: Option<String>,
    /// The network of the pods that select the definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Whether Open vSwitch listens for the programs of its pods.
    #[serde(skip)]
    pub listens: bool,
    /// Why the definition does not work, or warnings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The ignored keys of `host`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

impl Report {
    pub(super) fn has_rejected(&self) -> bool {
        self.definitions.iter().any(|definition| !definition.works)
    }

    /// Adds those of the pods that cannot be attached as they are.
    pub(super) fn add_pods(&mut self, pods: &[Pod]) {
        let names = self.definitions.iter().map(|it| (&*it.namespace, &*it.name)).collect();
        self.pods = with_folders(pods, &names);
    }
}

/// Evaluates all definitions together, and reports those of `namespace`, or all.
pub(super) fn report(cache: &Cache, ignored: &Ignored, namespace: Option<&str>, unread: Vec<Unread>) -> Report {
    let evaluation = legacy::evaluate(cache, &Options::default());
    let nads = cache.nads.user_nads().iter();
    let chosen = nads.filter(|(key, _)| namespace.is_none_or(|namespace| key.namespace == namespace));
    let definitions = chosen.filter_map(|(key, nad)| definition(cache, &evaluation, key, nad, ignored));
    Report { definitions: definitions.collect(), pods: Vec::new(), not_read: unread }
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
    let is_of = |record: &&usnet_controller::events::EventRecord| {
        let regarding = &record.regarding;
        (regarding.namespace.as_deref(), regarding.name.as_deref()) == (Some(&key.namespace), Some(&key.name))
    };
    let mut messages: Vec<_> = evaluation.records.iter().filter(is_of).map(|record| record.message.clone()).collect();
    let works = legacy.is_some_and(|legacy| messages.is_empty() || defines(cache, evaluation, key, legacy));
    let listens = works && legacy.is_some_and(|legacy| must_reconnect(legacy));
    messages.extend(listens.then(|| RECONNECT.to_owned()));
    Some(Definition {
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        works,
        engine: legacy.map(|legacy| legacy.engine.traits().api_name),
        bridge: legacy.map(|legacy| legacy.bridge.to_string()),
        network: legacy.filter(|_| works).map(|legacy| network_of(cache, legacy)),
        listens,
        messages,
        ignored: ignored.get(key).cloned().unwrap_or_default(),
    })
}

/// Whether the programs of pods have to connect again when the switch restarts. VPP forgets its
/// ports as well, and its programs are written for that.
fn must_reconnect(legacy: &Legacy) -> bool {
    let Settings { port_type, engine_role, .. } = &legacy.settings;
    (legacy.engine, *port_type, *engine_role) == (EngineKind::OpenVswitch, PortType::VhostUser, SocketRole::Server)
}

/// Whether the network of the bridge is created from this definition. A conflict is reported for
/// both definitions, but only the other one is rejected.
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

/// Returns the network of the bridge: one that a user created, or else the generated one.
fn network_of(cache: &Cache, legacy: &Legacy) -> String {
    let valid = cache.networks.values().filter_map(|network| network.spec.as_ref().ok());
    let of_bridge = valid.filter(|valid| (valid.engine, &valid.bridge.name) == (legacy.engine, &legacy.bridge));
    let names: BTreeSet<_> = of_bridge.map(|valid| valid.name.to_string()).collect();
    if names.is_empty() { legacy.network_name().to_string() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
}
