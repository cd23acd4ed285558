//! The status of an attachment: what its node reports, or why there is no node for it. Pure.

use crate::cache::Cache;
use crate::cache::attachments::{Attachment, ObjectName};
use crate::compile::attachments::{Place, place};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use usnet_crds::conditions::message::attachment as message;
use usnet_crds::conditions::reason::{ATTACHED, ATTACHING, DETACHING};
use usnet_crds::conditions::{ConditionUpdate, READY, Status, merge};
use usnet_crds::{AttachmentReport, AttachmentState, UserspaceAttachmentStatus};

/// The desired status of an attachment; none while nothing is known of it, and once it may be
/// deleted.
pub fn evaluate(
    cache: &Cache,
    name: &ObjectName,
    attachment: &Attachment,
    now: &Time,
) -> Option<UserspaceAttachmentStatus> {
    if attachment.is_deleting() && !attachment.has_finalizer() {
        return None;
    }
    let old = attachment.status.clone().unwrap_or_default();
    let place = place(cache, name, attachment);
    let (node, pod_uid) = match &place {
        Place::Node { node, pod_uid } => (node.clone(), pod_uid.clone()),
        Place::UnknownPod if !attachment.is_deleting() => return None,
        // The node stays in the status after the attachment was requested of it.
        Place::UnknownPod | Place::UnusablePod { .. } | Place::Nowhere { .. } => (old.node, old.pod_uid),
    };
    let report = cache.states.get(&node).and_then(|state| state.status.as_ref()?.attachments.get(&attachment.uid));
    let ready = if attachment.is_deleting() { detaching(report, &node) } else { ready(cache, &place, report) };
    let attached = report.filter(|report| report.state == AttachmentState::Attached);
    let generation = Some(attachment.generation);
    Some(UserspaceAttachmentStatus {
        observed_generation: generation,
        conditions: merge(&old.conditions, vec![ready], generation, now),
        node,
        pod_uid,
        mac: attached.and_then(|report| report.mac).map(|mac| mac.to_string()).unwrap_or_default(),
        ips: attached.map(|report| report.ips.clone()).unwrap_or_default(),
        socket: attached.map(|report| report.socket.clone()).unwrap_or_default(),
        mtu: attached.and_then(|report| report.mtu),
    })
}

fn ready(cache: &Cache, place: &Place, report: Option<&AttachmentReport>) -> ConditionUpdate {
    let update = |status, reason: &str, message: String| ConditionUpdate::new(READY, status, reason, message);
    let node = match place {
        Place::Node { node, .. } => node,
        Place::UnusablePod { reason, message } | Place::Nowhere { reason, message } => {
            return update(Status::False, reason, message.clone());
        }
        Place::UnknownPod => return update(Status::Unknown, ATTACHING, String::new()),
    };
    let is_ready = cache.nodes.get(node).is_some_and(|node| node.is_ready);
    let Some(report) = report else { return update(Status::Unknown, ATTACHING, message::attaching(node, is_ready)) };
    match report.state {
        AttachmentState::Attached => update(Status::True, ATTACHED, message::attached(node)),
        AttachmentState::Failed => update(Status::False, &report.reason, message::failed(node, &report.message)),
        AttachmentState::Pending | AttachmentState::Detaching => {
            update(Status::Unknown, ATTACHING, message::attaching(node, is_ready))
        }
    }
}

fn detaching(report: Option<&AttachmentReport>, node: &str) -> ConditionUpdate {
    let failed = report.filter(|report| report.state == AttachmentState::Detaching && !report.message.is_empty());
    match failed {
        Some(report) => {
            ConditionUpdate::new(READY, Status::False, &report.reason, message::failed(node, &report.message))
        }
        None => ConditionUpdate::new(READY, Status::False, DETACHING, message::detaching(node)),
    }
}
