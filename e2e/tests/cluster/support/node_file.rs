//! The file in which the agent of a node persists the networks that it selected, and those that it
//! refused.

use crate::support::cluster::try_run;
use std::path::Path;
use std::sync::Arc;
use usnet_crds::NodeNetwork;
use usnet_dataplane::node_file::{self, RefusedNetwork};

const PATH: &str = "/var/lib/usnet/node.json";

/// The content of the file of a node.
#[derive(Debug)]
pub(crate) struct NodeFile {
    /// The networks of the node, including those that drain.
    pub(crate) networks: Vec<NodeNetwork>,
    /// The networks that select the node, but whose bridge belongs to another network there.
    pub(crate) refused: Vec<RefusedNetwork>,
}

impl NodeFile {
    /// Reads the file of a node.
    pub(crate) fn read(node: &str) -> Result<Self, String> {
        let text = try_run("on-node", &[node, "cat", PATH], "")?;
        let file = node_file::NodeFile::parse(Path::new(PATH), text.as_bytes());
        let file = file.map_err(|error| format!("{error}: {text}"))?.ok_or_else(|| format!("{PATH} is empty"))?;
        let networks = file.networks.into_iter().map(Arc::unwrap_or_clone).collect();
        Ok(Self { networks, refused: file.refused })
    }

    /// Returns the network of this name, if the node has it.
    pub(crate) fn network(&self, name: &str) -> Option<&NodeNetwork> {
        self.networks.iter().find(|network| network.name.as_str() == name)
    }

    /// Returns the names of all networks in the file.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let refused = self.refused.iter().map(|refused| refused.name.as_str());
        self.networks.iter().map(|network| network.name.as_str()).chain(refused)
    }
}
