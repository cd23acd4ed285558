//! The cluster of one node that a folder of manifests describes. Pure.
//!
//! 1. [`assemble`] combines the documents of a folder.
//! 2. [`nads`] adds the networks that NADs of the Userspace CNI (Intel) request.
//! 3. [`manifest_snapshot`] is the result, in which each object has its [`source`].

mod assemble;
mod manifest_snapshot;
mod nads;
mod source;

pub(super) use assemble::snapshot;
pub(super) use manifest_snapshot::ManifestSnapshot;
pub(super) use source::Source;
