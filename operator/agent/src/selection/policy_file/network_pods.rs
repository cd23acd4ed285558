//! The pods of a network in the file: its own layout, which is not that of the API. Pure.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use usnet_crds::policy::pods::{KnownPod, KnownPods, PodClass, SelectorId};
use usnet_crds::{NamespaceName, NetworkName};

/// The pods of a network, or some of them.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NetworkPods {
    network: NetworkName,
    classes: Vec<FileClass>,
    pods: Vec<FilePod>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileClass {
    namespace: NamespaceName,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    selected_by: BTreeSet<SelectorId>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    not_selected_by: BTreeSet<SelectorId>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FilePod {
    uid: String,
    /// The place of its class, from 0.
    class: usize,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    addresses: BTreeSet<IpAddr>,
}

impl NetworkPods {
    pub(super) fn of(network: &NetworkName, pods: &KnownPods) -> Self {
        let classes: BTreeSet<&Arc<PodClass>> = pods.values().map(|pod| &pod.class).collect();
        let places: BTreeMap<_, usize> = classes.iter().copied().zip(0..).collect();
        let pod = |(uid, pod): (&String, &KnownPod)| {
            let class = places.get(&pod.class).copied()?;
            Some(FilePod { uid: uid.clone(), class, addresses: pod.addresses.clone() })
        };
        let (network, pods) = (network.clone(), pods.iter().filter_map(pod).collect());
        let class = |class: &Arc<PodClass>| FileClass {
            namespace: class.namespace.clone(),
            selected_by: class.selected_by.clone(),
            not_selected_by: class.not_selected_by.clone(),
        };
        Self { network, classes: classes.into_iter().map(class).collect(), pods }
    }
}

/// The pods of each network, of which earlier agents have written several parts. A pod whose class
/// is not there is left out.
pub(super) fn read(parts: Vec<NetworkPods>) -> BTreeMap<NetworkName, Arc<KnownPods>> {
    let mut networks: BTreeMap<NetworkName, KnownPods> = BTreeMap::new();
    for NetworkPods { network, classes, pods } in parts {
        let class = |FileClass { namespace, selected_by, not_selected_by }| {
            Arc::new(PodClass { namespace, selected_by, not_selected_by })
        };
        let classes: Vec<Arc<PodClass>> = classes.into_iter().map(class).collect();
        let known = |FilePod { uid, class, addresses }| {
            Some((uid, KnownPod { class: Arc::clone(classes.get(class)?), addresses }))
        };
        networks.entry(network).or_default().extend(pods.into_iter().filter_map(known));
    }
    networks.into_iter().map(|(network, pods)| (network, Arc::new(pods))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_of_a_network_are_joined_and_pods_without_their_class_left_out() {
        let part = |network: &str, namespace: &str, uids: [&str; 2]| {
            let pods = [json!({"uid": uids[0], "class": 0}), json!({"uid": uids[1], "class": 1})];
            json!({"network": network, "classes": [{"namespace": namespace}], "pods": pods})
        };
        let parts =
            json!([part("blue", "db", ["a", "b"]), part("red", "db", ["c", "d"]), part("blue", "web", ["e", "f"])]);
        let networks = read(serde_json::from_value(parts).unwrap());
        let found: Vec<String> = networks
            .iter()
            .flat_map(|(network, pods)| {
                pods.iter().map(move |(uid, pod)| format!("{network} {uid} {}", pod.class.namespace))
            })
            .collect();
        assert_eq!(found, ["blue a db", "blue e web", "red c db"]);
        for (network, pods) in &networks {
            assert_eq!(read(vec![NetworkPods::of(network, pods)])[network], *pods);
        }
    }
}
