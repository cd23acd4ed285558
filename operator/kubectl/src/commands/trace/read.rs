//! Reads the facts about the network from both nodes (IO).

use super::facts::{Endpoint, Facts, networks};
use crate::api::{Cluster, run_usnet};
use crate::model::{Pod, Snapshot};
use usnet_node_output::bridge::BridgeFacts;

pub(super) async fn facts<'a>(
    cluster: &Cluster,
    snapshot: &Snapshot,
    [from, to]: [&'a Pod; 2],
    network: &str,
    interval: u64,
) -> Facts<'a> {
    let endpoint = async |pod: &'a Pod| {
        let element = networks(snapshot, pod).into_iter().find(|(name, _)| name == network);
        let interface = element.map(|(_, element)| element.interface).unwrap_or_default();
        Endpoint { pod, interface, bridge: bridge(cluster, snapshot, pod, network, interval).await }
    };
    let (from, to) = futures::join!(endpoint(from), endpoint(to));
    Facts { network: network.to_owned(), from, to }
}

async fn bridge(
    cluster: &Cluster,
    snapshot: &Snapshot,
    pod: &Pod,
    network: &str,
    interval: u64,
) -> Result<BridgeFacts, String> {
    let node = pod.node.as_deref().ok_or("the pod is on no node yet")?;
    let agent = snapshot.agent(node).ok_or_else(|| format!("node {node} has no agent"))?;
    let interval = interval.to_string();
    let arguments = ["node", "bridge", network, "--interval", &interval];
    let text = run_usnet(cluster, agent, "agent", &arguments).await?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
