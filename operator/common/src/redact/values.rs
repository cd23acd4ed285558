//! Which values are kept where only known fields are. Pure.

use super::REMOVED;
use serde_json::Value;

/// The longest value, in bytes: a name of DNS.
const LENGTH_MAX: usize = 253;

/// Whether a text can be a name, an address, a path or a version: no URL, no password with special
/// characters, and no key.
pub(super) fn is_plain(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
    text.len() <= LENGTH_MAX && text.bytes().all(is_allowed) && !text.contains("://")
}

/// Says how many keys were left out.
pub(super) fn removed(keys: usize) -> (String, Value) {
    (REMOVED.to_owned(), keys.into())
}
