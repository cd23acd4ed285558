//! Which keys name secrets.

/// Parts of the names of secrets, in lower case and without `-` and `_`.
const PARTS: [&str; 15] = [
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "token",
    "kubeconfig",
    "credential",
    "privatekey",
    "apikey",
    "authorization",
    "clientkey",
    "keydata",
    "psk",
];
/// Values of keys like `memif.secret` that are a choice.
const SETTINGS: [&str; 3] = ["", "None", "Generated"];

/// Whether a key names a secret.
pub(super) fn is_secret(key: &str) -> bool {
    let plain: String = key.chars().filter(|letter| !matches!(letter, '-' | '_')).collect();
    let plain = plain.to_ascii_lowercase();
    PARTS.iter().any(|part| plain.contains(part))
}

/// Whether a value of such a key is a setting and no secret.
pub(super) fn is_setting(value: &str) -> bool {
    SETTINGS.contains(&value)
}
