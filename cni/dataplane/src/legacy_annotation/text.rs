//! Text that readers of the annotation do not stumble over.

use serde_json::Value;

/// Longest text, in characters: more is cut, so that one interface cannot fill the annotation.
const TEXT_MAX: usize = 253;

/// The text with `_` for whatever a reader would split at, take out or read wrongly: `=`, spaces, quotes, backslashes, control characters, and all
/// that is not ASCII, which the kubelet may write with backslashes.
pub(super) fn plain(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_graphic() && !"=\\\"".contains(character);
    text.chars().take(TEXT_MAX).map(|character| if is_plain(character) { character } else { '_' }).collect()
}

/// The same for every text in a value, keys included.
pub(super) fn plain_text(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(plain(text)),
        Value::Array(all) => all.iter().map(plain_text).collect(),
        Value::Object(parts) => parts.iter().map(|(key, part)| (plain(key), plain_text(part))).collect(),
        other => other.clone(),
    }
}
