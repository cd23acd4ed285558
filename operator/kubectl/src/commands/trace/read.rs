//! Reads the facts about the network from both nodes (IO).

use super::facts::{Endpoint, Facts};
use crate::api::{Cluster, run_usnet};
use crate::commands::pods::report::uses_of;
use crate::model::{Objects, Pod, Snapshot};
use std::time::Duration;
use usnet_node_output::bridge::BridgeFacts;

pub(super) async fn facts<'a>(
    cluster: &Cluster,
    snapshot: &Snapshot,
    [from, to]: [&'a Pod; 2],
    network: &str,
    interval: u64,
) -> Facts<'a> {
    let endpoint = async |pod: &'a Pod| {
        let used = uses_of(snapshot, pod).into_iter().find(|(name, _)| name == network).map(|(_, used)| used);
        let is_attached = used.as_ref().is_some_and(|used| used.attached.is_some());
        let interface = used.map(|used| used.interface).unwrap_or_default();
        Endpoint { pod, interface, is_attached, bridge: bridge(cluster, snapshot, pod, network, interval).await }
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
    let missing = match snapshot.has_read(Objects::UsnetPods) {
        true => format!("node {node} has no agent"),
        false => "you may not query the agent of its node".to_owned(),
    };
    let agent = snapshot.agent(node).ok_or(missing)?;
    let patience = Duration::from_secs(interval);
    let interval = interval.to_string();
    let arguments = ["node", "bridge", network, "--interval", &interval];
    let cluster = &cluster.with_patience(patience);
    let text = run_usnet(cluster, agent, "agent", &arguments).await?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
