//! The cluster of one node that a folder of manifests describes. Pure.
//!
//! 1. [`assemble`]: puts the documents of a folder together;
//! 2. [`nads`]: merges the networks that NADs of Intel's userspace CNI request;
//! 3. [`manifest_snapshot`]: the result, where each object has its [`source`].

mod assemble;
mod manifest_snapshot;
mod nads;
mod source;

pub(super) use assemble::snapshot;
pub(super) use manifest_snapshot::ManifestSnapshot;
pub(super) use source::Source;
