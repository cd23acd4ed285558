//! What one attachment needs. Pure.

use crate::cache::Cache;
use crate::cache::attachments::ObjectName;
use crate::compile::attachments::{metadata, place};
use crate::status;
use crate::write::{AttachmentWrite, Write};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// What an attachment needs.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Its pod, if that has to be read.
    pub(super) unread_pod: Option<ObjectName>,
    /// The write of its finalizer and owner.
    pub(super) metadata: Option<Write>,
    /// The write of its status.
    pub(super) status: Option<Write>,
}

/// Nothing for an attachment that is gone.
pub(super) fn evaluate(cache: &Cache, name: &ObjectName, now: &Time) -> Needs {
    let Some(attachment) = cache.attachments.objects.get(name) else { return Needs::default() };
    let needs_pod = !attachment.is_deleting() && place(cache, name, attachment).needs_pod();
    let metadata = metadata(cache, name, attachment);
    // With its finalizer the object goes.
    let is_ending = matches!(metadata, Some(Write::Attachment(AttachmentWrite::RemoveFinalizer { .. })));
    let status = status::attachment::evaluate(cache, name, attachment, now).filter(|_| !is_ending);
    let status = status.filter(|status| attachment.status.as_ref() != Some(status));
    Needs {
        unread_pod: attachment.pod(name).filter(|_| needs_pod),
        metadata,
        status: status.map(|status| {
            let (name, uid, status) = (name.clone(), attachment.uid.clone(), Box::new(status));
            Write::Attachment(AttachmentWrite::Status { name, uid, status })
        }),
    }
}
