//! What both nodes say of the network (IO).

use super::facts::{End, Facts, networks};
use crate::kubectl::api::{Cluster, run_in};
use crate::kubectl::model::{Pod, Snapshot};
use crate::node::bridge::BridgeFacts;

pub(super) async fn facts<'a>(
    cluster: &Cluster,
    snapshot: &Snapshot,
    [from, to]: [&'a Pod; 2],
    network: &str,
    interval: u64,
) -> Facts<'a> {
    let end = async |pod: &'a Pod| {
        let element = networks(snapshot, pod).into_iter().find(|(name, _)| name == network);
        let interface = element.map(|(_, element)| element.interface).unwrap_or_default();
        End { pod, interface, bridge: bridge(cluster, snapshot, pod, network, interval).await }
    };
    let (from, to) = futures::join!(end(from), end(to));
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
    let text = run_in(cluster, agent, "agent", &arguments).await?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
