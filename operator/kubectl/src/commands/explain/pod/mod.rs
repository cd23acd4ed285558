//! Explains why a pod does not start, or why no packets reach it.
//!
//! - [`read`] (IO): the pod and its events;
//! - [`context`]: one interface of the pod, and the objects that concern it; [`row`]: its row;
//! - [`all_interfaces`], [`scheduling`], [`container`]: causes that concern all interfaces;
//! - [`annotation`], [`definition`], [`placement`], [`volume`], [`address`], [`attachment`],
//!   [`program`]: causes that concern one interface, in the order of its creation;
//! - [`allowed`]: what an interface may send from; [`policies`]: which policies restrict it;
//! - [`claims`], [`added`]: interfaces by resource claims, and those added to a running pod;
//! - [`reservation`]: reservations for the pod that are refused;
//! - [`refusal`]: errors of the plugin in the pod's events; [`last_resort`], [`known_texts`]: what
//!   other programs say, if nothing else explains a pod that does not run.

pub(super) mod added;
mod address;
mod all_interfaces;
mod allowed;
mod annotation;
mod attachment;
mod claims;
mod container;
mod context;
mod definition;
mod known_texts;
mod last_resort;
mod placement;
mod policies;
mod program;
pub(crate) mod read;
mod refusal;
mod reservation;
mod row;
mod scheduling;
mod volume;

use super::finding::{Finding, Parts, Report, Severity};
use crate::model::selection::{Selected, selected};
use crate::model::{Pod, Snapshot};
pub(super) use all_interfaces::NO_NETWORK;
use context::Context;
use row::state;
pub(super) use row::{HEADS, Row};

/// A check for one cause.
type Cause = fn(&Context<'_>) -> Option<Finding>;

/// The checks of an interface. An earlier cause hides later ones: a network that does not exist has
/// no nodes.
const CAUSES: [Cause; 22] = [
    definition::unknown_namespace,
    definition::unknown_network,
    definition::namespace_not_selected,
    definition::shared,
    definition::foreign,
    definition::invalid,
    definition::rejected_network,
    definition::deleted_network,
    definition::missing,
    placement::node_not_selected,
    placement::engine,
    placement::network_failed,
    volume::no_volume,
    volume::volume_not_mounted,
    address::not_assigned,
    refusal::refused,
    refusal::plugin_missing,
    refusal::definition_not_found,
    placement::agent,
    attachment::added_later,
    placement::pending,
    attachment::degraded,
];

/// The rows of a pod's interfaces, each with its cause, and causes of their own.
type Rows = Vec<(Row, Option<Finding>)>;

/// Explains a pod. One that does not run, and has an interface that is not attached, always has a
/// cause.
pub(crate) fn report(snapshot: &Snapshot, pod: &Pod) -> Report {
    let node = pod.node.as_deref().map_or_else(|| "on no node yet".to_owned(), |node| format!("on {node}"));
    let mut findings = all_interfaces::causes(snapshot, pod);
    findings.extend(reservation::refused(snapshot, pod));
    let mut rows = selected_rows(snapshot, pod, &mut findings);
    rows.extend(claims::rows(snapshot, pod));
    rows.extend(added::rows(snapshot, pod));
    let (mut rows, found): (Vec<Row>, Vec<Option<Finding>>) = rows.into_iter().unzip();
    let found: Vec<Finding> = found.into_iter().flatten().collect();
    // The scheduler names a problem of one interface as one of the whole pod.
    findings.retain(|of_pod| !found.iter().any(|one| (&one.cause, &one.why) == (&of_pod.cause, &of_pod.why)));
    findings.extend(found);
    let is_error = |finding: &&Finding| finding.severity == Severity::Error;
    if !pod.has_ended() && rows.iter().any(Row::is_unexplained) && !findings.iter().any(|it| is_error(&it)) {
        findings.push(last_resort::waiting(snapshot, pod));
    }
    let concerns_all = |finding: &&Finding| is_error(finding) && finding.subject.is_empty();
    if let Some(first) = findings.iter().find(concerns_all) {
        rows.iter_mut().for_each(|row| row.explain(first));
    }
    findings.sort_by_key(|finding| finding.severity);
    findings.dedup();
    Report {
        subject: format!("pod {}", pod.reference()),
        state: format!("{} {node}", pod.state()),
        allowed: rows.iter_mut().flat_map(Row::take_allowed).collect(),
        parts: Parts { heads: HEADS, rows: rows.into_iter().map(Row::cells).collect() },
        findings,
        not_read: snapshot.unread.clone(),
        ..Report::default()
    }
}

/// Returns the rows of the interfaces that the annotation selects. Warnings about running pods are
/// added to `findings`.
fn selected_rows(snapshot: &Snapshot, pod: &Pod, findings: &mut Vec<Finding>) -> Rows {
    let Some(text) = pod.networks.as_deref() else { return Vec::new() };
    let elements = selected(text, &pod.namespace).unwrap_or_default();
    let mut mistakes = annotation::mistakes(text, &elements);
    findings.extend(annotation::ignored_keys(text));
    let row = |(index, element): (usize, &Selected)| {
        let context = Context::new(snapshot, pod, element);
        let source = element.to_string();
        if !context.is_of_usnet() {
            return (Row::of(&context, source, "not of usnet".to_owned()), None);
        }
        let mistake = mistakes.remove(&index).filter(|_| is_waiting(&context));
        let found = mistake.map(|found| found.of(context.subject())).or_else(|| cause(&context));
        findings.extend(volume::mount_unusable(&context));
        let program = context.is_attached().then(|| context.program());
        let state = state(context.is_attached(), program, found.as_ref());
        (Row::of(&context, source, state), found)
    };
    elements.iter().enumerate().map(row).collect()
}

/// Whether the interface is to be attached. A pod with hostNetwork has no interfaces, and a pod
/// that has ended needs none.
fn is_waiting(context: &Context<'_>) -> bool {
    !context.is_attached() && !context.pod.host_network && !context.pod.has_ended()
}

/// Returns the first cause that applies to the interface.
fn cause(context: &Context<'_>) -> Option<Finding> {
    if context.is_attached() {
        return placement::engine_of_attached(context).or_else(|| attachment::degraded(context));
    }
    if !is_waiting(context) {
        return None;
    }
    let found = CAUSES.iter().find_map(|cause| cause(context))?;
    Some(found.of(context.subject()))
}

#[cfg(test)]
mod tests;
