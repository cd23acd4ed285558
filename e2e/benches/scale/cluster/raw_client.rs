//! The floor: writes what the controllers would write for agents, with their token, and nothing
//! else.

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;
use usnet_crds::node_selection::resource_version;
use usnet_crds::node_state::UserspaceNodeStateSpec;
use usnet_crds::validate::validate;
use usnet_crds::{CompiledNetwork, CompiledState, Phase, UserspaceNetwork, UserspaceNodeState};

use super::objects::{AT_ONCE, Changed, namespace_name};

pub(crate) struct RawClient {
    client: Client,
}

impl RawClient {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
    }

    /// The first compiled networks and node states, for a cluster that never had a controller.
    pub(crate) async fn set_up(&self, admin: &Client, namespaces: usize) {
        let nodes = Api::<Node>::all(admin.clone()).list(&ListParams::default()).await.expect("nodes").items;
        let states: Api<UserspaceNodeState> = Api::all(self.client.clone());
        let states = &states;
        let make = |(number, node): (usize, Node)| async move {
            let spec =
                UserspaceNodeStateSpec { number: number as u32, labels: node.labels().clone(), ..Default::default() };
            let mut state = UserspaceNodeState::new(&node.name_any(), spec);
            state.metadata.owner_references =
                node.controller_owner_ref(&()).map(not_controller).map(|owner| vec![owner]);
            states.create(&PostParams::default(), &state).await.expect("a node state is made");
        };
        stream::iter(nodes.into_iter().enumerate()).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
        let networks = Api::<UserspaceNetwork>::all(admin.clone());
        let networks = networks.list(&ListParams::default()).await.expect("networks").items;
        let compiled: Api<CompiledNetwork> = Api::all(self.client.clone());
        let compiled = &compiled;
        let make = |network: UserspaceNetwork| async move {
            let object = compile(&network, namespaces);
            compiled.create(&PostParams::default(), &object).await.expect("a compiled network is made");
        };
        stream::iter(networks).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    }

    /// Recompiles changed networks; gives the highest resourceVersion.
    pub(crate) async fn change(&self, changed: &[Changed]) -> u64 {
        let api: Api<CompiledNetwork> = Api::all(self.client.clone());
        let api = &api;
        let change = |changed: &Changed| {
            let patch = json!({"spec": {"generation": changed.generation, "bridge": {"mtu": changed.mtu}}});
            let name = changed.name.clone();
            async move {
                let patch = Patch::Merge(patch);
                let written = api.patch(&name, &PatchParams::default(), &patch).await.expect("a compiled network");
                resource_version(written.metadata.resource_version.as_deref())
            }
        };
        let versions: Vec<u64> = stream::iter(changed).map(change).buffer_unordered(AT_ONCE).collect().await;
        versions.into_iter().max().unwrap_or_default()
    }
}

/// What the controller makes of a network without anything special.
fn compile(network: &UserspaceNetwork, namespaces: usize) -> CompiledNetwork {
    let state = CompiledState {
        generation: network.metadata.generation.unwrap_or_default(),
        created: network.metadata.creation_timestamp.clone(),
        phase: Phase::Active,
        overlay: None,
        namespaces: (0..namespaces).map(namespace_name).collect(),
        reserved: Vec::new(),
    };
    let spec = validate(network).expect("a valid network").compiled(state);
    let mut compiled = CompiledNetwork::new(&network.name_any(), spec);
    compiled.metadata.owner_references = network.controller_owner_ref(&()).map(|owner| vec![owner]);
    compiled
}

fn not_controller(owner: OwnerReference) -> OwnerReference {
    OwnerReference { controller: None, ..owner }
}
