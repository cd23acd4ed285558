//! The names of compiled policies: the namespace, which has no dot, a dot, and the name of the
//! policy. Both together may be longer than a name can be.

use crate::names::fnv1a;

/// Longest name of an object, in bytes: a DNS subdomain (RFC 1123).
pub const OBJECT_NAME_MAX: usize = 253;
/// The digits of a hash, and the character before them.
const ENDING: usize = 17;
const START: usize = OBJECT_NAME_MAX - ENDING;

/// The name of the compiled policy of a policy. All names that are shortened have the greatest
/// length, and no others have it: a policy cannot be named so that it takes the place of another.
pub fn object_name(namespace: &str, policy: &str) -> String {
    let whole = format!("{namespace}.{policy}");
    if whole.len() < OBJECT_NAME_MAX {
        return whole;
    }
    let start: String = whole.chars().take(START).collect();
    // Each part between dots begins and ends with a letter or a digit.
    let start = start.trim_end_matches(['.', '-']);
    format!("{start:0<START$}-{:016x}", fnv1a(whole.as_bytes()))
}
