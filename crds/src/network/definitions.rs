//! Where a network's NetworkAttachmentDefinitions are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The namespace of shared NADs.
pub const SHARED_NAMESPACE: &str = "usnet-system";
/// Namespaces that the empty selector excludes: they have no workloads that attach.
pub const SYSTEM_NAMESPACES: [&str; 4] = ["kube-node-lease", "kube-public", "kube-system", SHARED_NAMESPACE];

/// Where a network's NetworkAttachmentDefinitions are.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Definitions {
    /// One in each selected namespace.
    #[default]
    PerNamespace,
    /// One in `usnet-system` for all.
    Shared,
}
