//! What the agent of a node keeps for its next start: the networks that it selected, and those that
//! it cannot have.

use crate::support::cluster::try_run;
use serde::Deserialize;
use usnet_crds::NodeNetwork;

/// The layout that this release writes.
const VERSION: u32 = 2;

/// `/var/lib/usnet/node.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct NodeFile {
    version: u32,
    /// The networks that the node has, or still drains.
    pub(crate) networks: Vec<NodeNetwork>,
    /// The networks that select the node and whose bridge another network has there.
    #[serde(default)]
    pub(crate) refused: Vec<Refused>,
}

/// A network that selects the node and cannot be there.
#[derive(Debug, Deserialize)]
pub(crate) struct Refused {
    pub(crate) name: String,
    pub(crate) reason: String,
}

impl NodeFile {
    /// The file of a node.
    pub(crate) fn read(node: &str) -> Result<Self, String> {
        let text = try_run("on-node", &[node, "cat", "/var/lib/usnet/node.json"], "")?;
        let file: Self = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
        assert_eq!(file.version, VERSION, "{text}");
        Ok(file)
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
