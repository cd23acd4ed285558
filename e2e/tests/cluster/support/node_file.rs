//! What the agent of a node keeps for its next start: the networks that it selected, and those that
//! it cannot have.

use crate::support::cluster::try_run;
use std::path::Path;
use std::sync::Arc;
use usnet_crds::NodeNetwork;
use usnet_dataplane::node_file::{self, RefusedNetwork};

/// On each node.
const PATH: &str = "/var/lib/usnet/node.json";

/// What the file of a node says.
#[derive(Debug)]
pub(crate) struct NodeFile {
    /// The networks that the node has, or still drains.
    pub(crate) networks: Vec<NodeNetwork>,
    /// The networks that select the node and whose bridge another network has there.
    pub(crate) refused: Vec<RefusedNetwork>,
}

impl NodeFile {
    /// The file of a node.
    pub(crate) fn read(node: &str) -> Result<Self, String> {
        let text = try_run("on-node", &[node, "cat", PATH], "")?;
        let file = node_file::NodeFile::parse(Path::new(PATH), text.as_bytes());
        let file = file.map_err(|error| format!("{error}: {text}"))?.ok_or_else(|| format!("{PATH} is empty"))?;
        let networks = file.networks.into_iter().map(Arc::unwrap_or_clone).collect();
        Ok(Self { networks, refused: file.refused })
    }

    /// The network of that name, if the node has it.
    pub(crate) fn network(&self, name: &str) -> Option<&NodeNetwork> {
        self.networks.iter().find(|network| network.name.as_str() == name)
    }

    /// All networks that it speaks of.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let refused = self.refused.iter().map(|refused| refused.name.as_str());
        self.networks.iter().map(|network| network.name.as_str()).chain(refused)
    }
}
