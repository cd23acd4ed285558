//! The interfaces that UserspaceAttachments add to a running pod: rows, and the cause of each that
//! is not attached. Pure.

use super::context::Context;
use super::refusal::remedy_in;
use super::row::{Row, state};
use super::{attachment, placement};
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy;
use crate::model::selection::Selected;
use crate::model::{Added, Pod, Snapshot};
use usnet_crds::conditions::reason::{ATTACH_FAILED, DETACH_FAILED, NETWORK_UNAVAILABLE};

/// The reasons that say only that the plugin refused the interface.
const OF_PLUGIN: [&str; 3] = [ATTACH_FAILED, DETACH_FAILED, NETWORK_UNAVAILABLE];

/// Returns the rows of a pod's attachments, and the causes of those that have a problem.
pub(super) fn rows(snapshot: &Snapshot, pod: &Pod) -> Vec<(Row, Option<Finding>)> {
    let of_pod = snapshot.added.iter().filter(|it| it.namespace == pod.namespace && it.pod == pod.name);
    of_pod.map(|added| row(snapshot, pod, added)).collect()
}

/// Returns the row of an attachment, and the cause if it has a problem.
pub(in crate::commands::explain) fn row(snapshot: &Snapshot, pod: &Pod, added: &Added) -> (Row, Option<Finding>) {
    let element = Selected {
        namespace: added.namespace.clone(),
        name: added.network.clone(),
        interface: added.interface.clone(),
        ips: Vec::new(),
    };
    let context = Context::of_network(snapshot, pod, &element, Some(added.network.clone()));
    let found =
        cause(added).or_else(|| placement::engine_of_attached(&context)).or_else(|| attachment::degraded(&context));
    let program = added.is_attached().then(|| context.program());
    let state = state(added.is_attached(), program, found.as_ref());
    (Row::of(&context, added.source(), state), found)
}

/// Why the interface is not attached, by the condition of the attachment.
pub(in crate::commands::explain) fn cause(added: &Added) -> Option<Finding> {
    let found = match &added.ready {
        Some((true, ..)) => return None,
        Some((false, reason, message)) => {
            let of_plugin = remedy_in(message).filter(|_| OF_PLUGIN.contains(&reason.as_str()));
            let remedy = of_plugin.unwrap_or_else(|| remedy(reason).to_owned());
            Finding::new(reason, message.clone(), remedy)
        }
        None => Finding::new(
            "NotObserved",
            "no controller has reported on the attachment",
            "see that config/components/hot-plug is installed, and the log of the leading controller: kubectl usnet status",
        ),
    };
    Some(found.of(added.source()))
}
