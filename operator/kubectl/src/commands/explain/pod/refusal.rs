//! Errors of the plugin, Multus and the container runtime in the pod's events.

use super::context::Context;
use crate::commands::explain::finding::Finding;
use crate::commands::explain::remedy::remedy;
use crate::model::Snapshot;
use crate::model::snapshot::Event;
use usnet_crds::cni_error;
use usnet_crds::conditions::reason;

const SANDBOX_FAILED: &str = "FailedCreatePodSandBox";
/// The prefix of every error of the plugin.
const ERROR_PREFIX: &str = "usnet[";
/// The text of Multus' error for a missing definition.
const NOT_FOUND: &str = "cannot find a network-attachment-definition";
/// The maximum length of the cited part of an event, in characters.
const CITED_MAX: usize = 600;

/// The plugin rejected the interface: `usnet[102 NoVolume]: …`.
pub(super) fn refused(context: &Context<'_>) -> Option<Finding> {
    let event = last(context, |message| message.contains(ERROR_PREFIX))?;
    plugin_error(&event.message, tries(context.snapshot, &event.message))
}

/// Returns how often an error of the plugin occurred. Each sandbox has its own event, because its
/// name is in the message.
pub(super) fn tries(snapshot: &Snapshot, message: &str) -> i32 {
    let error = |message: &str| message.rsplit_once(ERROR_PREFIX).map(|(_, said)| said.to_owned());
    let same = snapshot.events.iter().filter(|event| error(&event.message) == error(message));
    same.map(|event| event.count).sum()
}

/// Returns the error of the plugin in a message, if it has one.
pub(super) fn plugin_error(message: &str, tries: i32) -> Option<Finding> {
    let (_, said) = message.rsplit_once(ERROR_PREFIX)?;
    let (head, text) = said.split_once("]: ")?;
    let (code, reason) = head.split_once(' ')?;
    let times = if tries == 1 { "once".to_owned() } else { format!("{tries} times") };
    let why = format!("the CNI plugin rejected the interface (code {code}, {times}): {}", shortened(text));
    Some(Finding::new(reason, why, remedy_for(code, reason, text)))
}

/// Returns what to do about the error of the plugin in a message, if it has one.
pub(super) fn remedy_in(message: &str) -> Option<String> {
    plugin_error(message, 1).map(|found| found.remedy)
}

/// Returns what to do about an error of the plugin. Where the agent knows why a network cannot be
/// used, the reason is that of the network on the node.
fn remedy_for(code: &str, reason: &str, text: &str) -> String {
    match code.parse().ok().and_then(|code| cni_error::find(code, reason)) {
        Some(error) if error.reason != reason && reason::find(reason).is_some() => remedy(reason).to_owned(),
        Some(error) => error.remedy(text),
        None => "see the message; docs/errors.md describes each code".to_owned(),
    }
}

pub(super) fn plugin_missing(context: &Context<'_>) -> Option<Finding> {
    let is_it = |message: &str| message.contains("failed to find plugin \"userspace\"");
    let event = last(context, is_it)?;
    let node = context.pod.node.as_deref().unwrap_or("NAME");
    let why = format!("the CNI plugin userspace is not installed on node {node}: {}", shortened(&event.message));
    let remedy = format!(
        "the agent installs it: kubectl usnet explain node {node}; check that its folder is the one that the runtime uses (bin_dir)"
    );
    Some(Finding::new("PluginMissing", why, remedy))
}

/// Multus does not find the definition, and the user may not list definitions.
pub(super) fn definition_not_found(context: &Context<'_>) -> Option<Finding> {
    let event = last(context, |message| message.contains(NOT_FOUND))?;
    let why = shortened(&event.message);
    let remedy = "the name in the annotation is wrong, or the network does not select the namespace: kubectl describe usn NAME names the labels that it requires";
    Some(Finding::new("DefinitionMissing", why, remedy))
}

/// Returns the last matching event of this interface. Multus names the definition before the
/// plugin's error.
fn last<'a>(context: &Context<'a>, is_it: impl Fn(&str) -> bool) -> Option<&'a Event> {
    let failed = context.snapshot.events.iter().filter(|event| event.reason == SANDBOX_FAILED && is_it(&event.message));
    let failed: Vec<&Event> = failed.collect();
    let name = format!("{}]", context.element.name);
    let quoted = format!("\"{}\"", context.element.name);
    let bracketed = format!("({})", context.element.name);
    let names =
        |event: &&&Event| [&name, &quoted, &bracketed].into_iter().any(|it| event.message.contains(it.as_str()));
    let is_only = context.pod.networks.as_deref().is_some_and(|text| !text.contains(','));
    failed.iter().rev().find(names).or_else(|| failed.last().filter(|_| is_only)).copied()
}

pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CITED_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
