//! Configurations of the Userspace CNI (Intel) in the node's folders of CNI configurations: that of
//! the container runtime, and that of Multus for NetworkAttachmentDefinitions without one. The
//! bridges that they name become networks of this node alone.
//!
//! 1. [`follow`](mod@follow) (IO) reads the [`files`] after each change.
//! 2. [`configurations`] makes networks of them. Pure.
//! 3. [`input`] adds these to the networks of the API server, which come first. Pure.
//!
//! A node without an API server has such configurations in its folder of manifests.
//!
//! A file that cannot be used changes nothing: its last valid content stays in effect until the
//! agent ends, and the node's status reports the problem.

mod configurations;
mod files;
mod follow;
pub(crate) mod input;

pub use follow::follow;
