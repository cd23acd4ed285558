//! The events of definitions, each reported once.

use super::super::cache::DefinitionKey;
use super::super::cache::definitions::HandWritten as Definition;
use super::super::events::{EventType, Notice};
use super::Member;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use std::collections::BTreeSet;
use std::fmt::Display;
use usnet_crds::legacy::Disagreement;
use usnet_crds::network::SELECTOR_VALUES_MAX;
use usnet_crds::{NetworkAttachmentDefinition, NetworkName};

/// The definition's configuration cannot be used.
pub(super) const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
/// It names a network that does not exist.
pub(super) const UNKNOWN_NETWORK: &str = "UnknownNetwork";
/// Pods of its namespace may not attach to the network.
pub(super) const NAMESPACE_NOT_SELECTED: &str = "NamespaceNotSelected";
/// It and another definition, or a network, ask for different things of one bridge.
pub(super) const DISAGREES: &str = "DefinitionsDisagree";
/// A network has the name that its bridge's network would get.
pub(super) const NETWORK_NAME_TAKEN: &str = "NetworkNameTaken";
/// One network cannot list all the namespaces.
pub(super) const TOO_MANY_NAMESPACES: &str = "TooManyNamespaces";

/// Definitions of one namespace ask for too many networks.
pub(super) const TOO_MANY_NETWORKS: &str = "TooManyNetworks";

/// What was reported and still holds.
#[derive(Debug, Clone, Default)]
pub struct Reported(BTreeSet<(String, String, String)>);

impl Reported {
    /// Of all that holds now, what was not reported yet. What no longer holds is forgotten, and reported again when it comes back.
    pub fn new_ones(&mut self, notices: Vec<Notice>) -> Vec<Notice> {
        let identity = |notice: &Notice| {
            let object = notice.regarding.uid.clone().unwrap_or_default();
            (object, notice.reason.clone(), notice.message.clone())
        };
        let now: BTreeSet<_> = notices.iter().map(identity).collect();
        let new = notices.into_iter().filter(|notice| !self.0.contains(&identity(notice))).collect();
        self.0 = now;
        new
    }
}

fn notice(key: &DefinitionKey, definition: &Definition, reason: &str, message: String) -> Notice {
    Notice {
        regarding: ObjectReference {
            api_version: Some(NetworkAttachmentDefinition::api_version(&()).into_owned()),
            kind: Some(NetworkAttachmentDefinition::kind(&()).into_owned()),
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
            uid: Some(definition.uid.clone()),
            ..ObjectReference::default()
        },
        kind: EventType::Warning,
        reason: reason.to_owned(),
        message,
    }
}

pub(super) fn invalid(key: &DefinitionKey, definition: &Definition, problem: &impl Display) -> Notice {
    let message = format!("spec.config cannot be used, and its pods are rejected: {problem}");
    notice(key, definition, INVALID_CONFIGURATION, message)
}

pub(super) fn unknown_network(key: &DefinitionKey, definition: &Definition, network: &NetworkName) -> Notice {
    let message =
        format!("spec.config names network {network}, which does not exist: create UserspaceNetwork {network}");
    notice(key, definition, UNKNOWN_NETWORK, message)
}

pub(super) fn not_selected(key: &DefinitionKey, definition: &Definition, network: &NetworkName) -> Notice {
    let message = format!(
        "pods of namespace {} may not attach to network {network}: label the namespace as spec.namespaceSelector of UserspaceNetwork {network} asks, or change that",
        key.namespace
    );
    notice(key, definition, NAMESPACE_NOT_SELECTED, message)
}

pub(super) fn name_taken(member: &Member<'_>, network: &NetworkName) -> Notice {
    let message = format!(
        "the network for bridge {} would be called {network}, and a network of another bridge has that name: rename that, or create a UserspaceNetwork for this bridge",
        member.legacy.bridge
    );
    notice(member.key, member.definition, NETWORK_NAME_TAKEN, message)
}

pub(super) fn too_many_namespaces(member: &Member<'_>, network: &NetworkName) -> Notice {
    let message = format!(
        "network {network} lists {SELECTOR_VALUES_MAX} namespaces, and no more fit: take the label usnet.dev/from-nad from it and give it a namespaceSelector of your own"
    );
    notice(member.key, member.definition, TOO_MANY_NAMESPACES, message)
}

pub(super) fn too_many_networks(member: &Member<'_>, most: usize) -> Notice {
    let message = format!(
        "definitions of namespace {} ask for more than {most} bridges, and no more networks are created for it: create a UserspaceNetwork for bridge {}, or name one bridge in several definitions",
        member.key.namespace, member.legacy.bridge
    );
    notice(member.key, member.definition, TOO_MANY_NETWORKS, message)
}

/// To the younger of two.
pub(super) fn disagrees(
    member: &Member<'_>,
    network: &NetworkName,
    oldest: &Member<'_>,
    differences: &[Disagreement],
) -> Notice {
    let message = format!(
        "{}: network {network} of bridge {} is as NetworkAttachmentDefinition {} asks, which was there first. Pods of this one are refused until they agree: change one of the two, or name another bridge",
        list(differences),
        member.legacy.bridge,
        oldest.key
    );
    notice(member.key, member.definition, DISAGREES, message)
}

/// To the older one, of all that disagree with it.
pub(super) fn is_disagreed_with(
    oldest: &Member<'_>,
    network: &NetworkName,
    refused: &[(&Member<'_>, Vec<Disagreement>)],
) -> Option<Notice> {
    let (first, differences) = refused.first()?;
    let more = match refused.len() {
        1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let message = format!(
        "NetworkAttachmentDefinition {}{more} disagrees: {}. This one was there first, so that network {network} of bridge {} stays as it asks",
        first.key,
        list(differences),
        oldest.legacy.bridge
    );
    Some(notice(oldest.key, oldest.definition, DISAGREES, message))
}

/// A network that a person made for the bridge gives something else.
pub(super) fn does_not_fit(member: &Member<'_>, network: &NetworkName, differences: &[Disagreement]) -> Notice {
    let message = format!(
        "{}: bridge {} belongs to network {network}. Pods of this definition are refused until it agrees with that network",
        list(differences),
        member.legacy.bridge
    );
    notice(member.key, member.definition, DISAGREES, message)
}

fn list(differences: &[Disagreement]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
