//! What agents know: `usnet node bundle` of each node.

use super::{Collection, progress};
use crate::kubectl::api::run_in;
use crate::kubectl::commands::shared::agents;
use crate::kubectl::error::Error;
use crate::kubectl::model::Snapshot;
use crate::node::bundle::NodeBundle;
use futures::stream::{self, StreamExt};

/// How many nodes are asked at a time: each answer may have 32 MB.
const AT_ONCE: usize = 4;

/// Adds a folder for each node. Returns how many nodes answered, and how many there are.
pub(super) async fn collect(collection: &mut Collection<'_>, snapshot: &Snapshot) -> Result<(usize, usize), Error> {
    let (agents, gaps) = agents(snapshot, |_| true);
    for gap in gaps {
        collection.fail(&gap.what, &gap.why);
    }
    let total = snapshot.cache.states.len();
    let cluster = collection.cluster;
    let asked =
        stream::iter(agents).map(async |agent| (agent, run_in(cluster, agent, "agent", &["node", "bundle"]).await));
    let mut answers = asked.buffer_unordered(AT_ONCE);
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
                progress(&format!("node {node} does not answer"));
                collection.fail(&format!("node {node}"), &why);
            }
        }
    }
    Ok((answered, total))
}

/// Names of files are of the node, whose answer may be anything.
fn add(collection: &mut Collection<'_>, node: &str, bundle: NodeBundle) -> Result<(), Error> {
    for (name, text) in bundle.files {
        let is_plain = name.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if is_plain {
            let text = collection.redactor.file(&text);
            collection.add(&format!("nodes/{node}/{name}"), &text)?;
        } else {
            collection.fail(&format!("node {node}"), "a file has no usable name");
        }
    }
    for (what, why) in bundle.errors {
        collection.fail(&format!("node {node}, {what}"), &why);
    }
    Ok(())
}
