//! The networks that files of the node define, beside those of the API server.

use super::input::Compiled;
use std::collections::BTreeMap;
use std::sync::Arc;
use usnet_crds::{NetworkName, NodeNetwork};

/// The version of such networks. The resourceVersions of the API server are higher.
pub(crate) const VERSION: u64 = 0;

/// The networks that files of the node define.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileNetworks {
    pub(crate) networks: BTreeMap<NetworkName, Arc<Compiled>>,
    /// Whether the files were never read: their networks stay as they were.
    pub(crate) is_unread: bool,
}

/// A network of a file, for every node with its engine.
pub(crate) fn compiled(network: Arc<NodeNetwork>) -> Arc<Compiled> {
    Arc::new(Compiled::without_selector(VERSION, String::new(), network))
}
