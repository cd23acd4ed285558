//! Ownership tags in VPP: the tags of bridge domains and interfaces, 63 bytes each.
//!
//! The tag of a bridge domain is `usnet:` and its network. The tag of an interface is its
//! attachment, whose container id of 64 hexadecimal digits is packed to fit: `usn:`, 43 characters
//! of base64 and the rest. All other attachments are written out after `usn=`.

use crate::engine::error::TagTooLong;
use crate::model::attachment::AttachmentId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use usnet_crds::{EngineKind, NetworkName};
use usnet_vpp::wire::FixedText;

/// A tag of VPP.
pub(super) type Tag = FixedText<64>;

/// Longest tag, in bytes.
pub const TAG_MAX: usize = Tag::LIMIT;

const NETWORK: &str = "usnet:";
const PACKED: &str = "usn:";
const PLAIN: &str = "usn=";
/// Digits of the container ids of usual container runtimes, and their length when packed.
const DIGITS: usize = 64;
const PACKED_DIGITS: usize = 43;

/// What to do about a name that does not fit.
const USE_SHORTER_ID: &str = "use container ids of 64 hexadecimal digits, or shorter ones";
const USE_SHORTER_NAME: &str = "use a shorter name";

fn too_long(what: String, remedy: &'static str) -> TagTooLong {
    TagTooLong { engine: EngineKind::Vpp, what, limit: TAG_MAX, remedy }
}

/// The tag of a network's bridge domain.
pub(super) fn network_tag(network: &NetworkName) -> Result<Tag, TagTooLong> {
    Tag::new(format!("{NETWORK}{network}")).map_err(|_| too_long(format!("network {network}"), USE_SHORTER_NAME))
}

/// The network that owns a bridge domain. A tag that usnet could not have written is not its own.
pub(super) fn network(tag: &str) -> Option<NetworkName> {
    tag.strip_prefix(NETWORK)?.parse().ok()
}

/// The tag of the interface of an attachment, which is given as [`AttachmentId`] prints it.
pub(super) fn attachment_tag(attachment: &str) -> Result<Tag, TagTooLong> {
    let tag = match pack(attachment) {
        Some(packed) => format!("{PACKED}{packed}"),
        None => format!("{PLAIN}{attachment}"),
    };
    Tag::new(tag).map_err(|_| too_long(format!("attachment {attachment}"), USE_SHORTER_ID))
}

/// The attachment that owns an interface. A tag that usnet could not have written is not its own.
pub(super) fn attachment(tag: &str) -> Option<String> {
    let attachment = match (tag.strip_prefix(PACKED), tag.strip_prefix(PLAIN)) {
        (Some(packed), _) => unpack(packed)?,
        (None, Some(plain)) => plain.to_owned(),
        (None, None) => return None,
    };
    attachment_tag(&attachment).is_ok_and(|created| created.as_str() == tag).then_some(attachment)
}

/// Whether an attachment fits into a tag.
///
/// # Errors
/// Its name is too long.
pub fn check_attachment(id: &AttachmentId) -> Result<(), TagTooLong> {
    attachment_tag(&id.to_string()).map(drop)
}

/// The attachment with its container id in base64; `None` if the id is not 64 hexadecimal digits.
fn pack(attachment: &str) -> Option<String> {
    let (digits, rest) = attachment.split_at_checked(DIGITS)?;
    if !rest.starts_with('.') || !digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let pairs = (0..DIGITS).step_by(2).map(|place| u8::from_str_radix(digits.get(place..place + 2)?, 16).ok());
    let bytes: Option<Vec<u8>> = pairs.collect();
    Some(format!("{}{rest}", URL_SAFE_NO_PAD.encode(bytes?)))
}

fn unpack(packed: &str) -> Option<String> {
    let (digits, rest) = packed.split_at_checked(PACKED_DIGITS)?;
    let bytes = URL_SAFE_NO_PAD.decode(digits).ok()?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("{digits}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_usual_attachment_fits_exactly() {
        let attachment_name = format!("{}.{}", "0123456789abcdef".repeat(4), "a".repeat(15));
        let tag = attachment_tag(&attachment_name).unwrap();
        assert_eq!(tag.as_str().len(), TAG_MAX);
        assert_eq!(attachment(tag.as_str()), Some(attachment_name));
    }

    #[test]
    fn every_attachment_has_one_tag_or_none() {
        for name in ["c1.net1", "cnitool-77383ca0a0715733ca6f.eth0", "a.b.c", &format!("{}.net1", "F".repeat(54))] {
            assert_eq!(
                attachment_tag(name).ok().and_then(|tag| attachment(tag.as_str())).as_deref(),
                Some(name),
                "{name}"
            );
        }
        let too_long = attachment_tag(&"x".repeat(60)).unwrap_err();
        assert_eq!(too_long.what, format!("attachment {}", "x".repeat(60)));
        let digits = format!("{}.a", "0".repeat(64));
        assert!(attachment_tag(&digits).unwrap().as_str().len() < TAG_MAX);
    }

    #[test]
    fn invalid_tags_are_not_owned() {
        let written_out = format!("{PLAIN}{}.a", "0".repeat(64));
        for tag in ["", "usnet", "usn", "usn:", "usn:short.net1", "somebody", &written_out, "usn:????"] {
            assert_eq!(attachment(tag), None, "{tag}");
        }
        for tag in ["", "usnet:", "usnet:Not A Name", "usnet/blue", "blue"] {
            assert_eq!(network(tag), None, "{tag}");
        }
        let blue: NetworkName = "blue".parse().unwrap();
        assert_eq!(network(network_tag(&blue).unwrap().as_str()), Some(blue));
        assert!(network_tag(&"n".repeat(57).parse().unwrap()).is_ok());
        assert!(network_tag(&"n".repeat(58).parse().unwrap()).is_err());
    }
}
