//! Nodes without machines: their objects, and an agent for all of them.

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use usnet_crds::node_state::UserspaceNodeStateStatus;
use usnet_crds::{UserspaceNetwork, UserspaceNodeState};

use crate::simulation::programmed;

const AT_ONCE: usize = 16;
/// Node states are large: few in one answer.
const PAGE: u32 = 50;

/// Makes ready nodes.
pub(crate) async fn make_nodes(client: &Client, count: usize) {
    let api: Api<Node> = Api::all(client.clone());
    let make = |index: usize| {
        let api = api.clone();
        async move {
            let name = format!("node-{index:04}");
            let node = serde_json::from_value(json!({"metadata": {"name": name}})).expect("a node");
            api.create(&PostParams::default(), &node).await.expect("a node is made");
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Up", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}});
            api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await.expect("a node is ready");
        }
    };
    stream::iter((0..count).map(make)).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

/// Makes networks.
pub(crate) async fn make_networks(client: &Client, count: usize) {
    let api: Api<UserspaceNetwork> = Api::all(client.clone());
    let make = |index: usize| {
        let (api, network) = (api.clone(), crate::network(&format!("network-{index:04}"), 1500));
        async move { api.create(&PostParams::default(), &network).await.expect("a network is made") }
    };
    stream::iter((0..count).map(make)).buffer_unordered(AT_ONCE).collect::<Vec<_>>().await;
}

/// Lets every agent that has something new to say say it; gives back how many did.
pub(crate) async fn answer(client: &Client) -> usize {
    let api: Api<UserspaceNodeState> = Api::all(client.clone());
    let mut parameters = ListParams::default().limit(PAGE);
    let mut count = 0;
    loop {
        let page = api.list(&parameters).await.expect("node states are listed");
        let news = page.items.iter().filter_map(|state| {
            let (name, generation) = (state.metadata.name.clone()?, state.metadata.generation?);
            let said = state.status.as_ref().and_then(|status| status.observed_generation);
            (said != Some(generation)).then(|| (name, status(state, generation)))
        });
        let patches = news.map(|(name, status)| {
            let api = api.clone();
            async move {
                let patch = Patch::Merge(json!({"status": status}));
                api.patch_status(&name, &PatchParams::default(), &patch).await.expect("a status is written");
            }
        });
        count += stream::iter(patches).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await.len();
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = ListParams::default().limit(PAGE).continue_token(&token),
            None => return count,
        }
    }
}

fn status(state: &UserspaceNodeState, generation: i64) -> UserspaceNodeStateStatus {
    let networks = state.spec.networks.iter();
    UserspaceNodeStateStatus {
        observed_generation: Some(generation),
        networks: networks.map(|network| programmed(network.name.as_str(), network.generation)).collect(),
        ..UserspaceNodeStateStatus::default()
    }
}

/// How many networks are ready on all nodes.
pub(crate) async fn ready(client: &Client, nodes: i64) -> usize {
    let api: Api<UserspaceNetwork> = Api::all(client.clone());
    let networks = api.list(&ListParams::default()).await.expect("networks are listed").items;
    let is_ready = |network: &&UserspaceNetwork| {
        let status = network.status.as_ref();
        status.is_some_and(|status| {
            status.observed_generation == network.metadata.generation && status.nodes.programmed == nodes
        })
    };
    networks.iter().filter(is_ready).count()
}
