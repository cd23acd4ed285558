//! Which node an attachment is requested of, and its finalizer and owner. Pure.
//!
//! The order of writes: finalizer, owner and the node in the status; then the node state; at the
//! end the entry of the node state, and once its agent does not report it any more the finalizer.

use crate::cache::attachments::{Attachment, FoundPod, ObjectName, Pod};
use crate::cache::{Cache, NodeState};
use crate::write::{AttachmentWrite, Write};
use std::collections::BTreeSet;
use usnet_common::shares::Shares;
use usnet_crds::RequestedAttachment;
use usnet_crds::attachment::node::REQUESTED_MAX;
use usnet_crds::attachment::validate::ValidAttachment;
use usnet_crds::conditions::message::attachment as message;
use usnet_crds::conditions::reason::{
    ATTACHING, HOST_NETWORK, INTERFACE_TAKEN, INVALID, NETWORK_UNKNOWN, POD_ENDED, POD_NOT_FOUND, POD_NOT_SCHEDULED,
    TOO_MANY_ATTACHMENTS,
};

/// Where an attachment belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On this node, in the pod with this uid.
    Node {
        /// The node.
        node: String,
        /// The uid of the pod.
        pod_uid: String,
    },
    /// The pod was not read yet.
    UnknownPod,
    /// Nowhere, because of its pod: it is read again later.
    UnusablePod {
        /// Why, in one word.
        reason: &'static str,
        /// Why, and what to do.
        message: String,
    },
    /// Nowhere, for another reason.
    Nowhere {
        /// Why, in one word.
        reason: &'static str,
        /// Why, and what to do.
        message: String,
    },
}

impl Place {
    /// Whether the pod has to be read.
    pub const fn needs_pod(&self) -> bool {
        matches!(self, Self::UnknownPod | Self::UnusablePod { .. })
    }
}

/// Where an attachment belongs. What a node was told stays.
pub fn place(cache: &Cache, name: &ObjectName, attachment: &Attachment) -> Place {
    if let Some((node, entry)) = entry(cache, attachment) {
        return Place::Node { node: node.to_owned(), pod_uid: entry.pod_uid.clone() };
    }
    let nowhere = |reason, message: String| Place::Nowhere { reason, message };
    let valid = match &attachment.spec {
        Ok(valid) => valid,
        Err(problem) => return nowhere(INVALID, problem.clone()),
    };
    let pod = ObjectName { namespace: name.namespace.clone(), name: valid.pod.to_string() };
    if let Some(holder) = holder(cache, &pod, valid, attachment) {
        return nowhere(INTERFACE_TAKEN, message::taken(&pod.name, &valid.interface, &holder.name));
    }
    if !cache.networks.contains_key(valid.network.as_str()) {
        return nowhere(NETWORK_UNKNOWN, message::network_unknown(&valid.network));
    }
    let unusable = |reason, message: String| Place::UnusablePod { reason, message };
    let (node, uid) = match cache.attachments.pods.get(&pod) {
        None => return Place::UnknownPod,
        Some(FoundPod::Absent) => return unusable(POD_NOT_FOUND, message::pod_not_found(&pod)),
        Some(FoundPod::Present(Pod { uid, .. })) if attachment.owner.as_ref().is_some_and(|owner| owner != uid) => {
            return unusable(POD_ENDED, message::pod_replaced(&pod));
        }
        Some(FoundPod::Present(Pod { has_ended: true, .. })) => return unusable(POD_ENDED, message::pod_ended(&pod)),
        Some(FoundPod::Present(Pod { has_host_network: true, .. })) => {
            return unusable(HOST_NETWORK, message::host_network(&pod));
        }
        Some(FoundPod::Present(Pod { node: None, .. })) => {
            return unusable(POD_NOT_SCHEDULED, message::pod_not_scheduled(&pod));
        }
        Some(FoundPod::Present(Pod { node: Some(node), uid, .. })) => (node, uid),
    };
    match cache.states.get(node) {
        None => nowhere(ATTACHING, message::no_node_state(node)),
        Some(state) if !state.places().may_take(&name.namespace) => {
            nowhere(TOO_MANY_ATTACHMENTS, too_many(node, &state.places(), &name.namespace))
        }
        // It could not be deleted: no agent would report that it is detached.
        Some(state) if state.status.is_none() && !is_prepared(attachment, uid) => {
            nowhere(ATTACHING, message::no_agent(node))
        }
        Some(_) => Place::Node { node: node.clone(), pod_uid: uid.clone() },
    }
}

/// Why the namespace gets no place.
fn too_many(node: &str, places: &Shares<'_>, namespace: &str) -> String {
    match places.taken() < REQUESTED_MAX {
        true => message::namespace_has_share(node, namespace, REQUESTED_MAX),
        false => message::node_is_full(node, REQUESTED_MAX),
    }
}

/// Whether finalizer and owner are set, which come before the entry of the node state.
fn is_prepared(attachment: &Attachment, pod_uid: &str) -> bool {
    attachment.has_finalizer() && attachment.owner.as_deref() == Some(pod_uid)
}

/// What its node was told of it, with the node.
fn entry<'a>(cache: &'a Cache, attachment: &Attachment) -> Option<(&'a str, &'a RequestedAttachment)> {
    let (node, state) = cache.states.get_key_value(attachment.node()?)?;
    Some((node, state.attachments.iter().find(|entry| entry.uid == attachment.uid)?))
}

/// Another attachment that has the interface of the pod: one whose node was told, or an older one.
fn holder<'a>(
    cache: &'a Cache,
    pod: &'a ObjectName,
    valid: &ValidAttachment,
    attachment: &Attachment,
) -> Option<&'a ObjectName> {
    let age = |it: &Attachment| (it.created.clone(), it.uid.clone());
    let holds = |(_, other): &(&ObjectName, &Attachment)| {
        other.uid != attachment.uid
            && other.spec.as_ref().is_ok_and(|it| it.interface == valid.interface)
            && (entry(cache, other).is_some() || age(other) < age(attachment))
    };
    cache.attachments.of_pod(pod).find(holds).map(|(name, _)| name)
}

/// The write that finalizer and owner of an attachment need; none when they are as they should be.
pub fn metadata(cache: &Cache, name: &ObjectName, attachment: &Attachment) -> Option<Write> {
    let (name, uid) = (name.clone(), attachment.uid.clone());
    if attachment.is_deleting() {
        let index = attachment.finalizer.filter(|_| is_detached(cache, attachment))?;
        return Some(Write::Attachment(AttachmentWrite::RemoveFinalizer { name, uid, index }));
    }
    let Place::Node { pod_uid, .. } = place(cache, &name, attachment) else { return None };
    let pod = attachment.spec.as_ref().ok()?.pod.to_string();
    let is_current = is_prepared(attachment, &pod_uid);
    let write = Write::Attachment(AttachmentWrite::Metadata { name, uid, pod: (pod, pod_uid) });
    (!is_current).then_some(write)
}

/// Whether its node has nothing of it any more. A node that is not reachable is not waited for: its
/// agent detaches what it is not told of when it is back.
fn is_detached(cache: &Cache, attachment: &Attachment) -> bool {
    let Some(node) = attachment.node() else { return true };
    let (Some(found), Some(state)) = (cache.nodes.get(node), cache.states.get(node)) else { return true };
    entry(cache, attachment).is_none() && (!found.is_ready || has_left(state, attachment))
}

/// Whether the agent has reported that it has nothing of it. Where no agent has ever reported, none
/// has attached it, unless it is older than the node state: that one was created again, and its
/// agent is to report.
fn has_left(state: &NodeState, attachment: &Attachment) -> bool {
    match &state.status {
        Some(status) => {
            let since = state.unrequested_since(&attachment.uid);
            status.observed_generation >= Some(since) && !status.attachments.contains_key(&attachment.uid)
        }
        None => attachment.created.as_ref().zip(state.created.as_ref()).is_some_and(|(it, state)| it > state),
    }
}

/// The write that the attachments in the state of a node need; none when they are as they should
/// be.
pub fn write(cache: &Cache, node: &str) -> Option<Write> {
    let state = cache.states.get(node)?;
    let requested = requested(cache, node);
    (requested != state.attachments).then(|| {
        let (node, uid) = (node.to_owned(), state.uid.clone());
        Write::Attachment(AttachmentWrite::Node { node, uid, attachments: requested })
    })
}

fn requested(cache: &Cache, node: &str) -> Vec<RequestedAttachment> {
    let request = |(name, attachment): (&ObjectName, &Attachment)| {
        let Place::Node { node: own, pod_uid } = place(cache, name, attachment) else { return None };
        let is_due = own == node && is_prepared(attachment, &pod_uid) && !attachment.is_deleting();
        let valid = attachment.spec.as_ref().ok().filter(|_| is_due)?;
        Some(RequestedAttachment {
            uid: attachment.uid.clone(),
            namespace: name.namespace.clone().try_into().ok()?,
            name: name.name.clone(),
            pod: valid.pod.clone(),
            pod_uid,
            network: valid.network.clone(),
            interface: valid.interface.clone(),
            mac: valid.mac,
            ips: valid.ips.clone(),
            rate_limit: valid.rate_limit,
        })
    };
    let mut requested: Vec<_> = cache.attachments.of_node(node).filter_map(request).collect();
    limit(&mut requested, cache.states.get(node).map(|state| state.attachments.as_slice()).unwrap_or_default());
    requested
}

/// As many as a node may have, shared out among namespaces. Those that are in the node state stay:
/// a new one takes away no interface that a pod uses.
fn limit(requested: &mut Vec<RequestedAttachment>, present: &[RequestedAttachment]) {
    requested.sort_by(|one, other| one.uid.cmp(&other.uid));
    let present: BTreeSet<&str> = present.iter().map(|entry| entry.uid.as_str()).collect();
    let (kept, new): (Vec<_>, Vec<_>) = requested
        .iter()
        .map(|entry| (entry.namespace.as_str(), entry.uid.as_str()))
        .partition(|(_, uid)| present.contains(uid));
    let mut places = Shares::halves(REQUESTED_MAX);
    kept.iter().for_each(|(namespace, _)| places.take(namespace));
    let chosen: BTreeSet<String> =
        kept.into_iter().map(|(_, uid)| uid).chain(places.share_out(new)).map(str::to_owned).collect();
    requested.retain(|entry| chosen.contains(&entry.uid));
    // Earlier releases may have written more.
    requested.truncate(REQUESTED_MAX);
}
