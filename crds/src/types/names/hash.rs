//! The hash of names that are derived from other names.

/// FNV-1a, 64 bits: small, and stable across releases, as required for names that are stored on
/// disk and in engines.
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
