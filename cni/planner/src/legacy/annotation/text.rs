//! Text that readers of the annotation do not stumble over.

use serde_json::Value;

/// Longest text, in characters: more is cut, so that one interface cannot fill the annotation.
const TEXT_MAX: usize = 253;

/// Replaces by `_` whatever an application would split at, strip or misread: `=`, spaces, quotes,
/// backslashes, control characters, and non-ASCII characters, which the kubelet may escape with
/// backslashes.
pub(super) fn plain(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_graphic() && !"=\\\"".contains(character);
    text.chars().take(TEXT_MAX).map(|character| if is_plain(character) { character } else { '_' }).collect()
}

/// Every text in a value as plain text, including keys.
pub(super) fn plain_text(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(text)),
        Value::Array(all) => all.iter().map(plain_text).collect(),
        Value::Object(parts) => parts.iter().map(|(key, part)| (plain(key), plain_text(part))).collect(),
        other => other.clone(),
    }
}
