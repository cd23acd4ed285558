//! The cluster before there are pods: networks with policies, and policies that select pods by
//! labels.

use crate::cluster::objects::{AT_ONCE, make_networks, namespace_name, network_name};
use crate::cluster::{Cluster, Writer, installation};
use crate::settings::Load;
use futures::{StreamExt, stream};
use kube::api::PostParams;
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::fmt::Debug;
use usnet_crds::{MultiNetworkPolicy, UserspaceNetwork};

pub(super) const NAMESPACES: usize = 25;
/// The pods of a node are on so many networks.
pub(super) const NETWORKS_OF_NODE: usize = 4;
/// Labels of pods: the first is what policies are for, the other one what peers have.
pub(super) const APPS: usize = 10;
pub(super) const ROLES: [&str; 2] = ["client", "server"];

/// Everything but pods, and the node states, which the controller of networks would write.
pub(super) async fn set_up(cluster: &mut Cluster, load: Load) {
    installation::apply_policies(&cluster.server);
    let namespaces = cluster.size.namespaces;
    let accounts = (0..namespaces).map(|index| {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        (namespace_name(index), account)
    });
    create::<k8s_openapi::api::core::v1::ServiceAccount>(&cluster.admin, accounts).await;
    make_networks(&cluster.admin, (0..load.networks).map(|index| network(&network_name(index)))).await;
    cluster.measure_floor().await;
    if let Writer::RawClient(raw) = &cluster.writer {
        raw.set_up(&cluster.admin, namespaces).await;
    }
    let namespace = |number: usize| namespace_name((number + number / load.networks * 7) % namespaces);
    let policies = (0..load.policies).map(|number| (namespace(number), policy(number, load)));
    create::<MultiNetworkPolicy>(&cluster.admin, policies).await;
}

async fn create<K>(client: &Client, objects: impl Iterator<Item = (String, Value)>)
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let create = |(namespace, object): (String, Value)| {
        let api = Api::<K>::namespaced(client.clone(), &namespace);
        async move {
            let object = serde_json::from_value(object).expect("an object");
            api.create(&PostParams::default(), &object).await.expect("an object is made");
        }
    };
    stream::iter(objects.map(create)).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
}

fn network(name: &str) -> UserspaceNetwork {
    let object = json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceNetwork", "metadata": {"name": name},
        "spec": {"engine": "OVS", "namespaceSelector": {}, "definitions": "Shared", "policies": "Enabled",
            "port": {"antiSpoofing": "Address"},
            "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.0.0.0/8"}]]}},
    });
    serde_json::from_value(object).expect("a network")
}

/// For the pods of an app, with the pods of five namespaces as peers, each role to another port.
fn policy(number: usize, load: Load) -> Value {
    let first = number / load.networks * 5 + number % load.networks;
    let rule = |role: usize| {
        let peer = |place: usize| {
            let namespace = namespace_name((first + place) % NAMESPACES);
            json!({
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "podSelector": {"matchLabels": {"role": ROLES[role]}},
            })
        };
        let peers: Vec<Value> = (0..5).map(peer).collect();
        json!({"from": peers, "ports": [{"protocol": "TCP", "port": 5432 + role}]})
    };
    let networks = network_name(number % load.networks);
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1beta1", "kind": "MultiNetworkPolicy",
        "metadata": {"name": format!("policy-{number}"), "annotations": {"k8s.v1.cni.cncf.io/policy-for": networks}},
        "spec": {
            "podSelector": {"matchLabels": {"app": app(number)}}, "policyTypes": ["Ingress"],
            "ingress": [rule(0), rule(1)],
        },
    })
}

pub(super) fn app(number: usize) -> String {
    format!("app-{}", number % APPS)
}
