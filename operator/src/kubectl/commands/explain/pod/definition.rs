//! Causes of an interface whose network or definition is not there, or may not be used.

use super::context::Context;
use crate::controller::cache::Nad;
use crate::controller::cache::NadKey;
use crate::kubectl::commands::explain::finding::Finding;
use crate::kubectl::commands::explain::remedy::remedy;
use crate::kubectl::commands::names::nearest;
use crate::kubectl::model::Part;
use kube::core::{Expression, Selector, SelectorExt};
use usnet_crds::conditions::{ACCEPTED, Status, find};
use usnet_crds::network::{Definitions, SHARED_NAMESPACE};
use usnet_crds::node_selection::selector_text;

/// Neither a definition nor a network has the name.
pub(super) fn unknown_network(context: &Context<'_>) -> Option<Finding> {
    let networks = &context.snapshot.cache.networks;
    let element = context.element;
    let (what, name) = match &context.network {
        Some(network) if networks.contains_key(network) => return None,
        Some(network) => (
            format!("NetworkAttachmentDefinition {element} names UserspaceNetwork {network}, which does not exist"),
            network,
        ),
        None if context.has_definition || !context.snapshot.knows(Part::Definitions) => return None,
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

/// The network does not select the namespace of the pod.
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

/// Labels that a selector accepts; none where it does not name them.
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

/// The definition of the network is in the namespace of usnet alone.
pub(super) fn shared(context: &Context<'_>) -> Option<Finding> {
    let valid = context.valid().filter(|valid| valid.definitions == Definitions::Shared)?;
    if context.has_definition || !context.snapshot.knows(Part::Definitions) {
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

/// A definition of the name belongs to another plugin.
pub(super) fn foreign(context: &Context<'_>) -> Option<Finding> {
    let (namespace, name) = (context.element.namespace.clone(), context.element.name.clone());
    let definition = context.snapshot.definitions.get(&NadKey { namespace, name })?;
    let is_foreign = *definition == Nad::Other && context.snapshot.cache.networks.contains_key(&context.element.name);
    let why =
        format!("NetworkAttachmentDefinition {} is for another plugin, and has the name of a network", context.element);
    is_foreign.then(|| Finding::new("ForeignDefinition", why, remedy("NameConflict")))
}

/// The definition of a user cannot be used.
pub(super) fn invalid(context: &Context<'_>) -> Option<Finding> {
    let element = context.element;
    let problem = context.snapshot.network_of_definition(&element.namespace, &element.name)?.err()?;
    let why = format!("NetworkAttachmentDefinition {element} cannot be used: {problem}");
    let remedy =
        format!("correct it: kubectl edit network-attachment-definition -n {} {}", element.namespace, element.name);
    Some(Finding::new("InvalidDefinition", why, remedy))
}

/// The network was never accepted, so that no node has it.
pub(super) fn rejected_network(context: &Context<'_>) -> Option<Finding> {
    let accepted = find(&context.object()?.status.as_ref()?.conditions, ACCEPTED)?;
    let is_nowhere = accepted.status == Status::False.as_str() && context.selection().is_none();
    let why =
        format!("network {} is rejected ({}): {}", context.network.as_deref()?, accepted.reason, accepted.message);
    is_nowhere.then(|| Finding::new("NetworkRejected", why, remedy(&accepted.reason)))
}

/// The network is being deleted.
pub(super) fn deleted_network(context: &Context<'_>) -> Option<Finding> {
    let name = context.network.as_deref()?;
    let why = format!("network {name} is being deleted and accepts no new pods");
    let remedy = "use another network, or create it again once it is gone: kubectl get usn";
    context.object()?.is_deleting().then(|| Finding::new("NetworkDeleting", why, remedy))
}

/// Everything is as it should be, but the definition is not there.
pub(super) fn missing(context: &Context<'_>) -> Option<Finding> {
    let is_missing = context.snapshot.knows(Part::Definitions) && !context.has_definition;
    let name = context.network.as_deref()?;
    context.object()?;
    let why = format!(
        "NetworkAttachmentDefinition {} is not there, although network {name} selects the namespace",
        context.element
    );
    let remedy =
        "the controller creates it: kubectl usnet explain network NAME, and the log of the controller that leads";
    is_missing.then(|| Finding::new("DefinitionMissing", why, remedy))
}
