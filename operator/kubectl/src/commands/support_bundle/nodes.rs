//! Collects the output of `usnet node bundle` of each node.

use super::Collection;
use crate::api::run_usnet;
use crate::commands::shared::agents;
use crate::error::Error;
use crate::model::Snapshot;
use crate::output::{count, tell, waiting};
use futures::stream::{self, StreamExt};
use usnet_node_output::bundle::NodeBundle;

/// The number of nodes that are queried at a time: each output may have 32 MB.
const CONCURRENCY: usize = 4;

/// Adds a folder for each node. Returns the number of nodes that responded, and of all nodes.
pub(super) async fn collect(collection: &mut Collection<'_>, snapshot: &Snapshot) -> Result<(usize, usize), Error> {
    let (agents, unread) = agents(snapshot, |_| true);
    for entry in unread {
        collection.fail(&entry.what, &entry.why);
    }
    let (total, asked_of) = (snapshot.cache.states.len(), agents.len());
    let cluster = collection.cluster;
    let asked =
        stream::iter(agents).map(async |agent| (agent, run_usnet(cluster, agent, "agent", &["node", "bundle"]).await));
    let mut answers = asked.buffer_unordered(CONCURRENCY);
    let (mut answered, mut left) = (0, asked_of);
    while let Some((agent, answer)) = waiting(count(left, "node"), answers.next()).await {
        left = left.saturating_sub(1);
        let node = agent.node.as_deref().unwrap_or_default();
        let parsed = answer.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        match parsed {
            Ok(bundle) => {
                answered += 1;
                tell(format_args!("read node {node} ({answered} of {total})"));
                add(collection, node, bundle)?;
            }
            Err(why) => {
                tell(format_args!("node {node} does not respond"));
                collection.fail(&format!("node {node}"), &why);
            }
        }
    }
    Ok((answered, total))
}

/// Adds the files of a node, whose names are not trusted.
fn add(collection: &mut Collection<'_>, node: &str, bundle: NodeBundle) -> Result<(), Error> {
    for (name, text) in bundle.files {
        let is_plain = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if is_plain {
            let text = collection.redactor.file(&text);
            collection.add(&format!("nodes/{node}/{name}"), &text)?;
        } else {
            collection.fail(&format!("node {node}"), "a file has an invalid name");
        }
    }
    for (what, why) in bundle.errors {
        collection.fail(&format!("node {node}, {what}"), &why);
    }
    Ok(())
}
