//! What an operation is about: its network, and the attachment whose port it changes.

use usnet_crds::NetworkName;
use usnet_dataplane::attachment::AttachmentId;
use usnet_dataplane::plan::Op;

/// The network that an operation is for, as far as it is known.
pub(crate) fn network_of(operation: &Op) -> Option<&NetworkName> {
    match operation {
        Op::RemovePort { owner, .. } | Op::UpdatePort { owner, .. } => owner.network.as_ref(),
        Op::RemoveBridge { network, .. }
        | Op::CreateBridge { network, .. }
        | Op::UpdateBridge { network, .. }
        | Op::CreatePort { network, .. } => Some(network),
    }
}

/// The attachment that an operation changes, as ownership tags name it.
pub(crate) fn attachment_of(operation: &Op) -> Option<String> {
    match operation {
        Op::RemovePort { owner, .. } | Op::UpdatePort { owner, .. } => Some(owner.attachment.clone()),
        Op::CreatePort { attachment, .. } => Some(attachment.to_string()),
        Op::RemoveBridge { .. } | Op::CreateBridge { .. } | Op::UpdateBridge { .. } => None,
    }
}

/// The attachment that an ownership tag names. Both of its parts may contain dots, so that a tag
/// can be split in more than one way; all of the results have the same record and the same lock.
/// None when no attachment can have that name, and so no record.
pub(crate) fn parse_attachment_tag(text: &str) -> Option<AttachmentId> {
    text.match_indices('.').find_map(|(dot, _)| {
        let (container, interface) = (text.get(..dot)?, text.get(dot + 1..)?);
        Some(AttachmentId { container: container.parse().ok()?, interface: interface.parse().ok()? })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_with_dots_keep_their_lock() {
        for text in ["c1.net1", "c1.eth0.100", "a.b.c.d"] {
            assert_eq!(parse_attachment_tag(text).unwrap().to_string(), text);
        }
        for text in ["", "c1", ".net1", "c1.", "c1.a/b"] {
            assert_eq!(parse_attachment_tag(text), None, "{text}");
        }
    }
}
