//! Sends writes for attachments (IO), and logs them.

use super::objects::owned_by;
use super::outcome::Done;
use super::verbs::{apply_metadata, apply_status, patch_parameters, remove_finalizer, replace, written};
use crate::cache::attachments::ObjectName;
use crate::cache::partial_objects::{AttachmentObject, NodeStateObject};
use crate::write::AttachmentWrite;
use kube::{Api, Client, Resource};
use serde_json::{Value, json};
use usnet_crds::attachment::spec::FINALIZER;
use usnet_crds::conditions::{READY, find};
use usnet_crds::{UserspaceAttachment, UserspaceAttachmentStatus};

pub(super) async fn request(client: Client, write: &AttachmentWrite) -> Result<Done, kube::Error> {
    let attachments = |client, name: &ObjectName| Api::<AttachmentObject>::namespaced(client, &name.namespace);
    match write {
        AttachmentWrite::Node { node, uid, attachments } => {
            let body = replace(uid, &[("/spec/attachments", &json!(attachments))])?;
            let api: Api<NodeStateObject> = Api::all(client);
            written(api.patch_metadata(node, &patch_parameters(), &body).await)
        }
        AttachmentWrite::Metadata { name, uid, pod } => {
            apply_metadata(&attachments(client, name), &name.name, &metadata(name, uid, pod)).await
        }
        AttachmentWrite::RemoveFinalizer { name, uid, index } => {
            remove_finalizer(&attachments(client, name), &name.name, uid, FINALIZER, *index).await
        }
        AttachmentWrite::Status { name, uid, status } => {
            let body = status_body(name, uid, status);
            apply_status(&attachments(client, name), &name.name, &body).await
        }
    }
}

/// Finalizer and owner. The uid is a precondition, as for networks.
fn metadata(name: &ObjectName, uid: &str, (pod, pod_uid): &(String, String)) -> Value {
    let owner = owned_by("v1", "Pod", pod, pod_uid);
    json!({
        "apiVersion": UserspaceAttachment::api_version(&()),
        "kind": UserspaceAttachment::kind(&()),
        "metadata": {
            "name": name.name, "namespace": name.namespace, "uid": uid,
            "finalizers": [FINALIZER], "ownerReferences": [owner],
        },
    })
}

fn status_body(name: &ObjectName, uid: &str, status: &UserspaceAttachmentStatus) -> Value {
    json!({
        "apiVersion": UserspaceAttachment::api_version(&()),
        "kind": UserspaceAttachment::kind(&()),
        "metadata": {"name": name.name, "namespace": name.namespace, "uid": uid},
        "status": status,
    })
}

/// Logs a successful write once.
pub(super) fn log(write: &AttachmentWrite) {
    match write {
        AttachmentWrite::Node { node, attachments, .. } => {
            tracing::info!(node, attachments = attachments.len(), "wrote the attachments that the node should have");
        }
        AttachmentWrite::Metadata { name, pod: (pod, _), .. } => {
            tracing::debug!(attachment = %name, pod, "wrote finalizer and owner of the attachment");
        }
        AttachmentWrite::RemoveFinalizer { name, .. } => {
            tracing::info!(attachment = %name, "removed the finalizer: the attachment is deleted");
        }
        AttachmentWrite::Status { name, status, .. } => {
            let Some(condition) = find(&status.conditions, READY) else { return };
            let (ready, reason) = (&condition.status, &condition.reason);
            tracing::debug!(attachment = %name, ready, reason, "{}", condition.message);
        }
    }
}
