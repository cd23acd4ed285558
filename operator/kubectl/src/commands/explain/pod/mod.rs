//! Explains why a pod does not start, or why no packets reach it.
//!
//! - [`read`] (IO): the pod and its events;
//! - [`context`]: one interface that the pod selects, and the objects that concern it;
//! - [`all_interfaces`]: causes that concern all interfaces;
//! - [`definition`], [`placement`], [`attachment`]: causes that concern one interface, in the order
//!   of its creation;
//! - [`refusal`]: errors of the plugin in the pod's events.

mod all_interfaces;
mod attachment;
mod context;
mod definition;
mod placement;
pub(crate) mod read;
mod refusal;

use super::finding::{Finding, Parts, Report};
use crate::commands::pods::report::{Program, program};
use crate::model::selection::{Selected, selected};
use crate::model::{Pod, Snapshot};
use context::Context;

/// A check for one cause.
type Cause = fn(&Context<'_>) -> Option<Finding>;

/// The checks of an interface. An earlier cause hides later ones: a network that does not exist has
/// no nodes.
const CAUSES: [Cause; 20] = [
    definition::unknown_network,
    definition::namespace_not_selected,
    definition::shared,
    definition::foreign,
    definition::invalid,
    definition::rejected_network,
    definition::deleted_network,
    definition::missing,
    placement::resource,
    placement::node_not_selected,
    placement::engine,
    placement::network_failed,
    attachment::no_volume,
    refusal::refused,
    refusal::plugin_missing,
    refusal::definition_not_found,
    placement::agent,
    attachment::added_later,
    placement::pending,
    attachment::degraded,
];

pub(crate) fn report(snapshot: &Snapshot, pod: &Pod) -> Report {
    let node = pod.node.as_deref().map_or_else(|| "on no node yet".to_owned(), |node| format!("on {node}"));
    let mut findings = all_interfaces::causes(snapshot, pod);
    let elements = pod.networks.as_deref().map(|text| selected(text, &pod.namespace));
    let elements = elements.and_then(Result::ok).unwrap_or_default();
    let mut rows = Vec::new();
    for element in &elements {
        let context = Context::new(snapshot, pod, element);
        let found = context.is_of_usnet().then(|| cause(&context)).flatten();
        rows.push(row(&context, element, found.as_ref()));
        findings.extend(found);
        findings.extend(attachment::volume_not_mounted(&context));
        findings.extend(attachment::mount_unusable(&context));
    }
    Report {
        subject: format!("pod {}", pod.reference()),
        state: format!("{} {node}", pod.state()),
        parts: Parts { heads: ["INTERFACE", "NETWORK", "DEFINITION", "PORT", "STATE"], rows },
        findings,
        not_read: snapshot.unread.clone(),
    }
}

/// Returns the first cause that applies to the interface.
fn cause(context: &Context<'_>) -> Option<Finding> {
    if context.is_attached() {
        return placement::engine_of_attached(context).or_else(|| attachment::degraded(context));
    }
    // A pod with hostNetwork has no interfaces, and a pod that has ended needs none.
    if context.pod.host_network || context.pod.has_ended() {
        return None;
    }
    let found = CAUSES.iter().find_map(|cause| cause(context))?;
    Some(found.of(context.subject()))
}

fn row(context: &Context<'_>, element: &Selected, found: Option<&Finding>) -> [String; 5] {
    let network = context.network.as_deref().unwrap_or("-");
    let valid = context.valid();
    let port =
        valid.map_or_else(|| "-".to_owned(), |valid| format!("{} {}", valid.engine, valid.port.port_type.as_str()));
    let state = match (context.is_attached(), found) {
        _ if !context.is_of_usnet() => "not of usnet".to_owned(),
        (true, _) => {
            let interface = (context.pod.runtime_uid.as_str(), element.interface.as_str());
            match program(context.snapshot, network, context.placement.as_ref(), interface) {
                Program::Connected => "attached, program connected".to_owned(),
                Program::NotConnected => "attached, program not connected".to_owned(),
                Program::Failed => "attached, failed".to_owned(),
                Program::NotNeeded | Program::Unknown => "attached".to_owned(),
            }
        }
        (false, Some(found)) => format!("not attached: {}", found.cause),
        (false, None) => "not attached".to_owned(),
    };
    [element.interface.clone(), network.to_owned(), element.to_string(), port, state]
}

#[cfg(test)]
mod tests;
