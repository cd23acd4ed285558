//! Collects the output of `usnet node bundle` of each node.

use super::{Collection, progress};
use crate::api::run_usnet;
use crate::commands::shared::agents;
use crate::error::Error;
use crate::model::Snapshot;
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
    let total = snapshot.cache.states.len();
    let cluster = collection.cluster;
    let asked =
        stream::iter(agents).map(async |agent| (agent, run_usnet(cluster, agent, "agent", &["node", "bundle"]).await));
    let mut answers = asked.buffer_unordered(CONCURRENCY);
    let mut answered = 0;
    while let Some((agent, answer)) = answers.next().await {
        let node = agent.node.as_deref().unwrap_or_default();
        let parsed = answer.and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()));
        match parsed {
            Ok(bundle) => {
                answered += 1;
                progress(&format!("read node {node} ({answered} of {total})"));
                add(collection, node, bundle)?;
            }
            Err(why) => {
                progress(&format!("node {node} does not respond"));
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
