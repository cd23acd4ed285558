//! Causes that concern the attachment of the interface.

use super::context::Context;
use super::program;
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy;
use usnet_crds::conditions::reason::NOT_CONNECTED;

/// The pod is running without the interface.
pub(super) fn added_later(context: &Context<'_>) -> Option<Finding> {
    let pod = context.pod;
    if !pod.containers.iter().any(|container| container.is_running) {
        return None;
    }
    let (cause, why, remedy) = match &pod.network_status {
        Some(_) => (
            "SelectedLater",
            "the pod was running when the network was added to its annotation, which is read only when a pod starts",
            "create the pod again",
        ),
        None => (
            "NoMultus",
            "the pod is running, but Multus has reported no interface of it: Multus is not the CNI plugin of the node, or was not when the pod started",
            "check that Multus runs on the node and is the first configuration in /etc/cni/net.d; see docs/without-multus.md for nodes without it; then create the pod again",
        ),
    };
    Some(Finding::new(cause, why, remedy))
}

/// The interface is attached, and has a problem.
pub(super) fn degraded(context: &Context<'_>) -> Option<Finding> {
    let problem = context.problem()?;
    let found = match problem.reason == NOT_CONNECTED {
        true => program::not_connected(context, &problem.message),
        false => Finding::new(&problem.reason, problem.message, remedy(&problem.reason)),
    };
    Some(found.of(context.subject()))
}
