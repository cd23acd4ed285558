//! Fingerprints: what is cached of objects that are compared only as a whole. They are stable
//! within this process only, and never stored.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use usnet_crds::{CompiledNetworkSpec, UserspaceNodeSliceSpec};

/// Hash of the content of a compiled network.
pub fn of_compiled(spec: &CompiledNetworkSpec) -> u64 {
    let mut hasher = DefaultHasher::new();
    // Serialization cannot fail. If it did, the network would be written repeatedly, and would not
    // be lost.
    serde_json::to_string(spec).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// Hash of the content of a slice of nodes.
pub fn of_slice(spec: &UserspaceNodeSliceSpec) -> u64 {
    let mut hasher = DefaultHasher::new();
    spec.nodes.hash(&mut hasher);
    hasher.finish()
}

/// Hash of the content of a generated NAD.
pub fn of_nad(config: &str, owner: Option<&str>, label: Option<&str>, resource: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (config, owner, label, resource).hash(&mut hasher);
    hasher.finish()
}
