//! The events of NADs.

use super::member::Member;
use crate::cache::NadKey;
use crate::cache::nads::UserNad;
use crate::events::{EventRecord, EventType};
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use std::fmt::Display;
use usnet_crds::legacy::SettingMismatch;
use usnet_crds::network::SELECTOR_VALUES_MAX;
use usnet_crds::{NetworkAttachmentDefinition, NetworkName};

/// The configuration of the NAD is invalid.
pub(super) const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
/// The network of the NAD assigns addresses, so that the `ipam` of the NAD is not used.
pub(super) const IPAM_IGNORED: &str = "IpamIgnored";
/// The NAD names a network that does not exist.
pub(super) const UNKNOWN_NETWORK: &str = "UnknownNetwork";
/// Pods of the NAD's namespace may not attach to the network.
pub(super) const NAMESPACE_NOT_SELECTED: &str = "NamespaceNotSelected";
/// The settings conflict with those of another NAD, or of a network, of the same bridge.
pub(super) const NADS_DISAGREE: &str = "DefinitionsDisagree";
/// Another network has the name of the network to be generated.
pub(super) const NETWORK_NAME_TAKEN: &str = "NetworkNameTaken";
/// One network cannot list all the namespaces.
pub(super) const TOO_MANY_NAMESPACES: &str = "TooManyNamespaces";

/// NADs of one namespace request too many networks.
pub(super) const TOO_MANY_NETWORKS: &str = "TooManyNetworks";

fn record(key: &NadKey, nad: &UserNad, reason: &str, message: String) -> EventRecord {
    EventRecord {
        regarding: ObjectReference {
            api_version: Some(NetworkAttachmentDefinition::api_version(&()).into_owned()),
            kind: Some(NetworkAttachmentDefinition::kind(&()).into_owned()),
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
            uid: Some(nad.uid.clone()),
            ..ObjectReference::default()
        },
        kind: EventType::Warning,
        reason: reason.to_owned(),
        message,
    }
}

pub(super) fn invalid(key: &NadKey, nad: &UserNad, problem: &impl Display) -> EventRecord {
    let message = format!("spec.config cannot be used, and its pods are rejected: {problem}");
    record(key, nad, INVALID_CONFIGURATION, message)
}

pub(super) fn ipam_problem(key: &NadKey, nad: &UserNad, problem: &str) -> EventRecord {
    let message = format!("\"ipam\" of spec.config has a mistake, and pods get no address or another one: {problem}");
    record(key, nad, INVALID_CONFIGURATION, message)
}

pub(super) fn ipam_ignored(key: &NadKey, nad: &UserNad, network: &NetworkName) -> EventRecord {
    let message = format!(
        "\"ipam\" of spec.config is ignored, because network {network} has spec.ipam, which assigns the addresses: remove one of the two"
    );
    record(key, nad, IPAM_IGNORED, message)
}

pub(super) fn unknown_network(key: &NadKey, nad: &UserNad, network: &NetworkName) -> EventRecord {
    let message =
        format!("spec.config names network {network}, which does not exist: create UserspaceNetwork {network}");
    record(key, nad, UNKNOWN_NETWORK, message)
}

pub(super) fn not_selected(key: &NadKey, nad: &UserNad, network: &NetworkName) -> EventRecord {
    let message = format!(
        "pods of namespace {} may not attach to network {network}: label the namespace so that spec.namespaceSelector of UserspaceNetwork {network} selects it, or change the selector",
        key.namespace
    );
    record(key, nad, NAMESPACE_NOT_SELECTED, message)
}

pub(super) fn name_taken(member: &Member<'_>, network: &NetworkName) -> EventRecord {
    let message = format!(
        "the network for bridge {} would be named {network}, and a network of another bridge has that name: rename that network, or create a UserspaceNetwork for this bridge",
        member.legacy.bridge
    );
    record(member.key, member.nad, NETWORK_NAME_TAKEN, message)
}

pub(super) fn too_many_namespaces(member: &Member<'_>, network: &NetworkName) -> EventRecord {
    let message = format!(
        "network {network} lists {SELECTOR_VALUES_MAX} namespaces, which is the maximum: remove its label usnet.dev/from-nad and set its namespaceSelector"
    );
    record(member.key, member.nad, TOO_MANY_NAMESPACES, message)
}

pub(super) fn too_many_networks(member: &Member<'_>, most: usize) -> EventRecord {
    let message = format!(
        "NetworkAttachmentDefinitions of namespace {} request more than {most} bridges, and no more networks are created for it: create a UserspaceNetwork for bridge {}, or name one bridge in several NetworkAttachmentDefinitions",
        member.key.namespace, member.legacy.bridge
    );
    record(member.key, member.nad, TOO_MANY_NETWORKS, message)
}

/// The event of the younger of two NADs.
pub(super) fn mismatch_with_oldest(
    member: &Member<'_>,
    network: &NetworkName,
    oldest: &Member<'_>,
    mismatches: &[SettingMismatch],
) -> EventRecord {
    let message = format!(
        "{}: network {network} of bridge {} is defined by NetworkAttachmentDefinition {}, which takes precedence. Pods of this one are rejected until both agree: change one of them, or name another bridge",
        list(mismatches),
        member.legacy.bridge,
        oldest.key
    );
    record(member.key, member.nad, NADS_DISAGREE, message)
}

/// The event of the oldest NAD, about all NADs that conflict with it.
pub(super) fn conflicting_nads(
    oldest: &Member<'_>,
    network: &NetworkName,
    conflicting: &[(&Member<'_>, Vec<SettingMismatch>)],
) -> Option<EventRecord> {
    let (first, mismatches) = conflicting.first()?;
    let more = match conflicting.len() {
        1 => String::new(),
        all => format!(" and {} more", all - 1),
    };
    let message = format!(
        "NetworkAttachmentDefinition {}{more} disagrees: {}. This one takes precedence: network {network} of bridge {} keeps its settings",
        first.key,
        list(mismatches),
        oldest.legacy.bridge
    );
    Some(record(oldest.key, oldest.nad, NADS_DISAGREE, message))
}

/// The event of a NAD when a user's network of the bridge has other settings.
pub(super) fn mismatch_with_network(
    member: &Member<'_>,
    network: &NetworkName,
    mismatches: &[SettingMismatch],
) -> EventRecord {
    let message = format!(
        "{}: bridge {} belongs to network {network}. Pods of this NetworkAttachmentDefinition are rejected until it agrees with that network",
        list(mismatches),
        member.legacy.bridge
    );
    record(member.key, member.nad, NADS_DISAGREE, message)
}

fn list(mismatches: &[SettingMismatch]) -> String {
    mismatches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
