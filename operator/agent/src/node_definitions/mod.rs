//! Configurations of the Userspace CNI (Intel) in the node's folders of CNI configurations: that of
//! the container runtime, and that of Multus for NetworkAttachmentDefinitions without one. The
//! bridges that they name become networks of this node alone.
//!
//! 1. [`follow`](mod@follow) (IO) reads the [`files`] after each change.
//! 2. [`definitions`] makes networks of them. Pure.
//! 3. [`input`] adds these to the networks of the API server, which come first. Pure.
//!
//! A node without an API server has such configurations in its folder of manifests.
//!
//! A file that cannot be used changes nothing: its last valid content stays in effect until the
//! agent ends, and the node's status reports the problem.

mod definitions;
mod files;
mod follow;
pub(crate) mod input;

use crate::model::input::Compiled;
pub use follow::follow;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::NetworkName;

/// The version of networks that files of the node define. Those of the API server have higher ones.
pub(crate) const VERSION: u64 = 0;

/// The networks that files of the node define.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NodeDefinitions {
    pub(crate) networks: BTreeMap<NetworkName, Arc<Compiled>>,
    /// Whether the folder was never read: its networks stay as they were.
    pub(crate) is_unread: bool,
}
