//! Causes that concern the network or the definition of an interface.

use super::context::Context;
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy;
use crate::commands::names::nearest;
use crate::model::Objects;
use kube::core::{Expression, Selector, SelectorExt};
use usnet_controller::cache::Nad;
use usnet_controller::cache::NadKey;
use usnet_crds::conditions::{ACCEPTED, Status, find};
use usnet_crds::network::{Definitions, SHARED_NAMESPACE};
use usnet_crds::node_selection::selector_text;

/// The annotation names a namespace that does not exist.
pub(super) fn unknown_namespace(context: &Context<'_>) -> Option<Finding> {
    let (snapshot, element) = (context.snapshot, context.element);
    let namespaces = &snapshot.cache.namespaces;
    // Without the namespace of the pod the list is not complete.
    let is_complete = snapshot.has_read(Objects::Namespaces) && namespaces.contains_key(&context.pod.namespace);
    if !is_complete || context.has_definition || namespaces.contains_key(&element.namespace) {
        return None;
    }
    let why = format!("there is no namespace {}, which the annotation names in {element}", element.namespace);
    let remedy = match nearest(&element.namespace, namespaces.keys().map(String::as_str)) {
        Some(nearest) => format!("write {nearest}/{} if that namespace was meant", element.name),
        None => format!("write {} alone for the namespace of the pod", element.name),
    };
    Some(Finding::new("UnknownNamespace", why, format!("{remedy}, and create the pod again")))
}

pub(super) fn unknown_network(context: &Context<'_>) -> Option<Finding> {
    if !context.snapshot.has_read(Objects::Networks) {
        return unknown_definition(context);
    }
    let networks = &context.snapshot.cache.networks;
    let element = context.element;
    let (what, name) = match &context.network {
        Some(network) if networks.contains_key(network) => return None,
        Some(network) => (
            format!("NetworkAttachmentDefinition {element} names UserspaceNetwork {network}, which does not exist"),
            network,
        ),
        None if context.has_definition || !context.snapshot.has_read_definitions(&context.element.namespace) => {
            return None;
        }
        None => (
            format!("there is neither a NetworkAttachmentDefinition {element} nor a UserspaceNetwork {}", element.name),
            &element.name,
        ),
    };
    let remedy = match nearest(name, networks.keys().map(String::as_str)) {
        Some(nearest) => format!("write {nearest} if that network was meant, or create network {name}"),
        None => format!("create network {name}, or correct the name: kubectl get usn"),
    };
    Some(Finding::new("UnknownNetwork", what, remedy))
}

/// The definition does not exist, for a user who may not read networks.
fn unknown_definition(context: &Context<'_>) -> Option<Finding> {
    let (snapshot, element) = (context.snapshot, context.element);
    if context.has_definition || !snapshot.has_read_definitions(&element.namespace) {
        return None;
    }
    let of_namespace = snapshot.definitions.keys().filter(|key| key.namespace == element.namespace);
    let remedy = match nearest(&element.name, of_namespace.map(|key| key.name.as_str())) {
        Some(nearest) => format!("write {nearest} if that network was meant, and create the pod again"),
        None => format!(
            "correct the name: kubectl get net-attach-def -n {}; those that are not there are not for the namespace",
            element.namespace
        ),
    };
    let why = format!("there is no NetworkAttachmentDefinition {element}");
    Some(Finding::new("DefinitionMissing", why, remedy))
}

pub(super) fn namespace_not_selected(context: &Context<'_>) -> Option<Finding> {
    let (valid, pod) = (context.valid()?, context.pod);
    let namespace = context.snapshot.cache.namespaces.get(&pod.namespace)?;
    if valid.namespaces.matches(&namespace.labels) {
        return None;
    }
    let selector = selector_text(&valid.namespaces);
    let why = format!(
        "network {} does not select namespace {}: its namespaceSelector is {selector}",
        valid.name, pod.namespace
    );
    let labels = labels_for(&valid.namespaces).unwrap_or_else(|| "KEY=VALUE".to_owned());
    let remedy = format!(
        "kubectl label namespace {} {labels}, or change spec.namespaceSelector of network {}; the pod then starts by itself",
        pod.namespace, valid.name
    );
    Some(Finding::new("NamespaceNotSelected", why, remedy))
}

/// Returns labels that match a selector; `None` if it does not name any.
fn labels_for(selector: &Selector) -> Option<String> {
    let label = |requirement: Expression| match requirement {
        Expression::Equal(key, value) => Some(format!("{key}={value}")),
        Expression::In(key, values) => Some(format!("{key}={}", values.into_iter().next()?)),
        Expression::Exists(key) => Some(format!("{key}=")),
        Expression::NotIn(..) | Expression::NotEqual(..) | Expression::DoesNotExist(_) => None,
    };
    let labels: Option<Vec<String>> = selector.clone().into_iter().map(label).collect();
    labels.map(|labels| labels.join(" "))
}

/// The definition of the network is only in the namespace of usnet.
pub(super) fn shared(context: &Context<'_>) -> Option<Finding> {
    let valid = context.valid().filter(|valid| valid.definitions == Definitions::Shared)?;
    if context.has_definition || !context.snapshot.has_read_definitions(&context.element.namespace) {
        return None;
    }
    let why = format!(
        "network {} has one definition for all namespaces (definitions: Shared), in {SHARED_NAMESPACE}",
        valid.name
    );
    Some(Finding::new(
        "SharedDefinition",
        why,
        format!("write {SHARED_NAMESPACE}/{} in the pod's annotation", valid.name),
    ))
}

/// The definition with the name of the network is for another plugin.
pub(super) fn foreign(context: &Context<'_>) -> Option<Finding> {
    let (namespace, name) = (context.element.namespace.clone(), context.element.name.clone());
    let definition = context.snapshot.definitions.get(&NadKey { namespace, name })?;
    let is_foreign = *definition == Nad::Other && context.snapshot.cache.networks.contains_key(&context.element.name);
    let why = format!(
        "NetworkAttachmentDefinition {} is for another plugin, and has the same name as a network",
        context.element
    );
    is_foreign.then(|| Finding::new("ForeignDefinition", why, remedy("NameConflict")))
}

pub(super) fn invalid(context: &Context<'_>) -> Option<Finding> {
    let element = context.element;
    let problem = context.snapshot.network_of_definition(&element.namespace, &element.name)?.err()?;
    let why = format!("NetworkAttachmentDefinition {element} cannot be used: {problem}");
    let remedy =
        format!("correct it: kubectl edit network-attachment-definition -n {} {}", element.namespace, element.name);
    Some(Finding::new("InvalidDefinition", why, remedy))
}

/// The network was never accepted, so no node has it.
pub(super) fn rejected_network(context: &Context<'_>) -> Option<Finding> {
    let accepted = find(&context.object()?.status.as_ref()?.conditions, ACCEPTED)?;
    let is_nowhere = accepted.status == Status::False.as_str() && context.selection().is_none();
    let why =
        format!("network {} is rejected ({}): {}", context.network.as_deref()?, accepted.reason, accepted.message);
    is_nowhere.then(|| Finding::new("NetworkRejected", why, remedy(&accepted.reason)))
}

pub(super) fn deleted_network(context: &Context<'_>) -> Option<Finding> {
    let name = context.network.as_deref()?;
    let why = format!("network {name} is being deleted and accepts no new pods");
    let remedy = "use another network, or create this one again after its deletion: kubectl get usn";
    context.object()?.is_deleting().then(|| Finding::new("NetworkDeleting", why, remedy))
}

/// The controller should have created the definition.
pub(super) fn missing(context: &Context<'_>) -> Option<Finding> {
    let is_missing = context.snapshot.has_read_definitions(&context.element.namespace) && !context.has_definition;
    let name = context.network.as_deref()?;
    context.object()?;
    let why = format!(
        "NetworkAttachmentDefinition {} does not exist, although network {name} selects the namespace",
        context.element
    );
    let remedy =
        "the controller creates it: see kubectl usnet explain network NAME, and the log of the leading controller";
    is_missing.then(|| Finding::new("DefinitionMissing", why, remedy))
}
