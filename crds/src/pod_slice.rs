//! `UserspacePodSlice`: up to 16 pods of a network with policies, with their addresses and the
//! selectors that select them. The controller of policies alone writes the slices, and agents watch
//! those of networks that their node has pods on: so labels of a pod that change cost one write,
//! and no object grows with pods × nodes. Pods that are in no slice are selected by nothing, or it
//! is not known yet.
//!
//! Programs other than the API server have pods as [`KnownPods`]: how a slice names selectors is
//! known in this file alone.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::compiled_policy::spec::selector_id;
use crate::names::NETWORK_NAME_MAX;
use crate::policy::pods::{KnownPod, KnownPods, PodClass, SelectorId};
use crate::types::limits::IP_MAX;
use crate::{NamespaceName, NetworkName};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

/// Most pods of one slice. A pod that starts or ends has its whole slice written, which all agents
/// get that follow the network: with fewer pods in each, a write has fewer bytes, and there are
/// more objects. With 16 pods a slice is rarely above 2 kB, of which its metadata is a fifth.
pub const SLICE_PODS_MAX: usize = 16;
/// Most selectors of one class, in both lists together. A slice has 16 classes at most, and the
/// API server takes objects of 1.5 MB.
pub const CLASS_SELECTORS_MAX: usize = 500;
/// Most selectors of one slice.
pub const SLICE_SELECTORS_MAX: usize = SLICE_PODS_MAX * CLASS_SELECTORS_MAX;
/// Most addresses of one pod on a network.
pub const POD_ADDRESSES_MAX: usize = 32;
/// Longest uid of a pod: the API server makes UUIDs.
pub const UID_MAX: usize = 64;

/// The addresses of pods, by uid.
pub type AddressesByUid = BTreeMap<String, BTreeSet<IpAddr>>;

/// Up to 16 pods of a network. The label `usnet.dev/network` names the network as well.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspacePodSlice",
    shortname = "usps",
    category = "usnet",
    derive = "PartialEq",
    doc = "Up to 16 pods of a network with policies, with their addresses and the selectors of policies that select them. Only the controller of policies writes it; agents watch it.",
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.network"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
// What another client has applied would stay beside it otherwise.
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct UserspacePodSliceSpec {
    /// The network that the pods are on.
    #[schemars(length(max = NETWORK_NAME_MAX))]
    pub network: NetworkName,
    /// The ids of the selectors that classes name, sorted. The number of a selector is its place
    /// here, from 0.
    #[schemars(schema_with = "selectors")]
    pub selectors: Vec<SelectorId>,
    /// Pods that no selector tells apart are of one class.
    #[schemars(length(max = SLICE_PODS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub classes: Vec<SliceClass>,
}

/// Pods of a namespace, and what selectors say of them.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SliceClass {
    /// The namespace of the pods.
    pub namespace: NamespaceName,
    /// The selectors that select the pods, by their numbers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "numbers")]
    pub selected_by: BTreeSet<u16>,
    /// The selectors of policies of the namespace that do not select them, by their numbers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "numbers")]
    pub not_selected_by: BTreeSet<u16>,
    /// The addresses of each pod on the network, by its uid.
    #[schemars(schema_with = "pods")]
    pub pods: AddressesByUid,
}

impl UserspacePodSliceSpec {
    /// The slice with these pods.
    pub fn of<'pod>(network: NetworkName, pods: impl IntoIterator<Item = (&'pod str, &'pod KnownPod)>) -> Self {
        let mut classes: BTreeMap<&PodClass, AddressesByUid> = BTreeMap::new();
        for (uid, pod) in pods {
            classes.entry(&pod.class).or_default().insert(uid.to_owned(), pod.addresses.clone());
        }
        let ids = classes.keys().flat_map(|class| class.selected_by.union(&class.not_selected_by));
        let selectors: BTreeSet<SelectorId> = ids.copied().collect();
        let numbers: BTreeMap<SelectorId, u16> = selectors.iter().copied().zip(0..).collect();
        let of = |ids: &BTreeSet<SelectorId>| ids.iter().filter_map(|id| numbers.get(id).copied()).collect();
        let class = |(class, pods): (&PodClass, AddressesByUid)| SliceClass {
            namespace: class.namespace.clone(),
            selected_by: of(&class.selected_by),
            not_selected_by: of(&class.not_selected_by),
            pods,
        };
        Self { network, classes: classes.into_iter().map(class).collect(), selectors: selectors.into_iter().collect() }
    }

    /// The classes with their pods. One that names a selector that is not there cannot be read, and
    /// is left out with its pods: so they are closed, and not taken for pods that are not selected.
    pub fn classified(&self) -> impl Iterator<Item = (PodClass, &AddressesByUid)> {
        self.classes.iter().filter_map(|class| Some((class.read(&self.selectors)?, &class.pods)))
    }

    /// The pods with their classes, by uid.
    pub fn pods(&self) -> KnownPods {
        let classes = self.classified().map(|(class, pods)| (Arc::new(class), pods));
        let known = |(class, pods): (Arc<PodClass>, &AddressesByUid)| {
            let known =
                |addresses: &BTreeSet<IpAddr>| KnownPod { class: Arc::clone(&class), addresses: addresses.clone() };
            pods.iter().map(|(uid, addresses)| (uid.clone(), known(addresses))).collect::<Vec<_>>()
        };
        classes.flat_map(known).collect()
    }

    /// How many pods there are.
    pub fn pods_count(&self) -> usize {
        self.classes.iter().map(|class| class.pods.len()).sum()
    }
}

impl SliceClass {
    /// The class with the ids of its selectors; none if one of them is not there.
    fn read(&self, selectors: &[SelectorId]) -> Option<PodClass> {
        let ids = |numbers: &BTreeSet<u16>| {
            numbers.iter().map(|number| selectors.get(usize::from(*number)).copied()).collect::<Option<_>>()
        };
        let (selected_by, not_selected_by) = (ids(&self.selected_by)?, ids(&self.not_selected_by)?);
        Some(PodClass { namespace: self.namespace.clone(), selected_by, not_selected_by })
    }
}

fn selectors(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "items": selector_id(generator), "maxItems": SLICE_SELECTORS_MAX,
        "x-kubernetes-list-type": "atomic",
    })
}

fn numbers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "maxItems": CLASS_SELECTORS_MAX, "x-kubernetes-list-type": "atomic",
        "items": {"type": "integer", "minimum": 0, "maximum": SLICE_SELECTORS_MAX - 1},
    })
}

fn pods(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "additionalProperties": addresses(generator), "maxProperties": SLICE_PODS_MAX,
        "x-kubernetes-map-type": "atomic",
    })
}

/// Addresses of one pod, in the statuses of nodes as well.
pub(crate) fn addresses(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "items": {"type": "string", "maxLength": IP_MAX}, "maxItems": POD_ADDRESSES_MAX,
        "x-kubernetes-list-type": "atomic",
    })
}

/// The name of a slice of a network.
pub fn slice_name(network: &str, number: usize) -> String {
    format!("{network}.{number}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::net::Ipv6Addr;

    fn pod(namespace: &str, selected_by: &[u128], not_selected_by: &[u128], addresses: &[&str]) -> KnownPod {
        let ids = |ids: &[u128]| ids.iter().copied().map(SelectorId::new).collect();
        let (selected_by, not_selected_by) = (ids(selected_by), ids(not_selected_by));
        let class = PodClass { namespace: namespace.parse().unwrap(), selected_by, not_selected_by };
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        KnownPod { class: Arc::new(class), addresses }
    }

    fn slice(pods: &KnownPods) -> UserspacePodSliceSpec {
        UserspacePodSliceSpec::of("blue".parse().unwrap(), pods.iter().map(|(uid, pod)| (uid.as_str(), pod)))
    }

    #[test]
    fn a_slice_names_each_selector_and_each_class_once() {
        let pods = KnownPods::from([
            ("a".to_owned(), pod("db", &[7], &[9], &["10.0.0.1", "fd00::1"])),
            ("b".to_owned(), pod("db", &[7, 9], &[], &[])),
            ("c".to_owned(), pod("db", &[7], &[9], &["10.0.0.3"])),
        ]);
        let spec = slice(&pods);
        let id = |number| SelectorId::new(number).to_string();
        let expected = json!({
            "network": "blue", "selectors": [id(7), id(9)],
            "classes": [
                {"namespace": "db", "selectedBy": [0], "notSelectedBy": [1],
                    "pods": {"a": ["10.0.0.1", "fd00::1"], "c": ["10.0.0.3"]}},
                {"namespace": "db", "selectedBy": [0, 1], "pods": {"b": []}},
            ],
        });
        assert_eq!(serde_json::to_value(&spec).unwrap(), expected);
        assert_eq!((spec.pods(), spec.pods_count()), (pods, 3));
    }

    /// All classes have selectors of their own, as many as they may have, and all addresses are
    /// long.
    #[test]
    fn the_largest_slice_fits_into_the_api_server() {
        let pod = |place: usize| {
            let ids = (0..CLASS_SELECTORS_MAX).map(|number| SelectorId::new((place << 16 | number) as u128 | 1 << 127));
            let class =
                PodClass { selected_by: ids.collect(), ..PodClass::of_namespace("n".repeat(63).parse().unwrap()) };
            let address =
                |last: usize| Ipv6Addr::new(!0, !0, !0, !0, !0, !0, !0, 60_000 + u16::try_from(last).unwrap());
            let addresses = (0..POD_ADDRESSES_MAX).map(|last| address(last).into()).collect();
            (format!("{place:064}"), KnownPod { class: Arc::new(class), addresses })
        };
        let pods: KnownPods = (0..SLICE_PODS_MAX).map(pod).collect();
        let spec = slice(&pods);
        let size = serde_json::to_vec(&spec).unwrap().len();
        assert!((300_000..400_000).contains(&size), "{size} bytes");
        assert_eq!((spec.selectors.len(), spec.pods()), (SLICE_SELECTORS_MAX, pods));
    }

    #[test]
    fn pods_whose_selectors_are_not_there_are_left_out() {
        let class = |selected_by: &[u16], not_selected_by: &[u16], uid: &str| json!({"namespace": "db", "selectedBy": selected_by, "notSelectedBy": not_selected_by, "pods": {uid: []}});
        let id = SelectorId::new(7).to_string();
        let classes =
            [class(&[0], &[], "known"), class(&[0, 1], &[], "a"), class(&[], &[1], "b"), class(&[], &[0], "c")];
        let spec = json!({"network": "blue", "selectors": [id], "classes": classes});
        let spec: UserspacePodSliceSpec = serde_json::from_value(spec).unwrap();
        assert_eq!(spec.pods().into_keys().collect::<Vec<_>>(), ["c", "known"]);
    }

    /// The layout before had the ids in each class, and the pods beside the classes. The API server
    /// leaves out what its CRD does not know.
    #[test]
    fn a_slice_of_before_cannot_be_read() {
        let class = json!({"namespace": "db", "selectedBy": [SelectorId::new(7).to_string()]});
        let pods = json!([{"uid": "a", "class": 0, "addresses": ["10.0.0.1"]}]);
        for spec in [
            json!({"network": "blue", "classes": [class], "pods": pods}),
            json!({"network": "blue", "classes": [class]}),
            json!({"network": "blue", "classes": [], "pods": []}),
        ] {
            assert!(serde_json::from_value::<UserspacePodSliceSpec>(spec).is_err());
        }
    }
}
