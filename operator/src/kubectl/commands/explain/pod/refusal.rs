//! What the plugin, Multus and the container runtime said in the pod's events.

use super::context::Context;
use crate::kubectl::commands::explain::finding::Finding;
use crate::kubectl::model::snapshot::Event;

/// The reason of kubelet's event.
const SANDBOX_FAILED: &str = "FailedCreatePodSandBox";
/// What every error of the plugin begins with.
const MARK: &str = "usnet[";
/// Multus' words for a missing definition.
const NOT_FOUND: &str = "cannot find a network-attachment-definition";
/// Longest part of an event that is shown, in characters.
const SHOWN: usize = 600;

/// The plugin refused the interface: `usnet[102 NoVolume]: …`.
pub(super) fn refused(context: &Context<'_>) -> Option<Finding> {
    let event = last(context, |message| message.contains(MARK))?;
    let (_, said) = event.message.rsplit_once(MARK)?;
    let (head, text) = said.split_once("]: ")?;
    let (code, reason) = head.split_once(' ')?;
    let why = format!("the CNI plugin refused it ({code}, {} times): {}", event.count, shortened(text));
    Some(Finding::new(reason, why, advice(code)))
}

/// What to do about a code of the plugin: docs/errors.md in one sentence each.
fn advice(code: &str) -> &'static str {
    match code {
        "1" | "6" | "7" => {
            "correct the pod's annotation or the NetworkAttachmentDefinition as the message says, and create the pod again"
        }
        "2" => "remove what is not supported from the pod's annotation, and create the pod again",
        "4" => "check the versions of the container runtime and of Multus; a requested MAC or IP address must be valid",
        "5" => "the message names a file or program of the node: free space, or upgrade usnet there",
        "11" => "wait: kubelet tries again by itself; if it stays, kubectl usnet explain node NAME",
        "102" => "create the pod again with what the message asks for: volumes of a pod cannot change",
        "103" | "107" => "delete the pod so that it is created again",
        "104" => {
            "the message has the engine's words: look at its log on the node, and whether it sees /run/usnet/ports as the host does"
        }
        "105" => "look at the IPAM plugin of the network (spec.ipam) on the node",
        "108" => "extend the ranges of spec.ipam of the network, or end pods that have its addresses",
        _ => "act on the message; docs/errors.md has each code",
    }
}

/// The plugin is not in the node's folder.
pub(super) fn plugin_missing(context: &Context<'_>) -> Option<Finding> {
    let is_it = |message: &str| message.contains("failed to find plugin \"userspace\"");
    let event = last(context, is_it)?;
    let node = context.pod.node.as_deref().unwrap_or("NAME");
    let why = format!("the CNI plugin userspace is not on node {node}: {}", shortened(&event.message));
    let remedy = format!(
        "the agent installs it: kubectl usnet explain node {node}; check that its folder is the one that the runtime uses (bin_dir)"
    );
    Some(Finding::new("PluginMissing", why, remedy))
}

/// Multus finds no definition, and which there are is not known.
pub(super) fn definition_not_found(context: &Context<'_>) -> Option<Finding> {
    let event = last(context, |message| message.contains(NOT_FOUND))?;
    let why = shortened(&event.message);
    let remedy = "the name in the annotation is wrong, or the network does not select the namespace: kubectl describe usn NAME names the labels that it requires";
    Some(Finding::new("DefinitionMissing", why, remedy))
}

/// The last such event of this interface. Multus names the definition before the plugin's words.
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

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
