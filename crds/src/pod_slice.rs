//! `UserspacePodSlice`: up to 50 pods of a network with policies, with their addresses and the
//! selectors that select them. The controller of policies alone writes the slices, and agents watch
//! those of networks that their node has pods on: so labels of a pod that change cost one write,
//! and no object grows with pods × nodes. Pods that are in no slice are selected by nothing, or it
//! is not known yet.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::compiled_policy::spec::selector_id;
use crate::names::NETWORK_NAME_MAX;
use crate::policy::pods::{PodClass, SelectorId};
use crate::types::limits::IP_MAX;
use crate::{NamespaceName, NetworkName};
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// Most pods of one slice: a pod that is changed has a slice written, which all agents get that
/// follow the network.
pub const SLICE_PODS_MAX: usize = 50;
/// Most selectors of one class, in both lists together. A slice has 50 classes at most, and the
/// API server takes objects of 1.5 MB.
pub const CLASS_SELECTORS_MAX: usize = 500;
/// Most addresses of one pod on a network.
pub const POD_ADDRESSES_MAX: usize = 32;
/// Longest uid of a pod: the API server makes UUIDs.
pub const UID_MAX: usize = 64;

/// Up to 50 pods of a network. The label `usnet.dev/network` names the network as well.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspacePodSlice",
    shortname = "usps",
    category = "usnet",
    derive = "PartialEq",
    doc = "Up to 50 pods of a network with policies, with their addresses and the selectors of policies that select them. Only the controller of policies writes it; agents watch it.",
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.network"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
// Another client's fields would stay when the controller applies its own.
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct UserspacePodSliceSpec {
    /// The network that the pods are on.
    #[schemars(length(max = NETWORK_NAME_MAX))]
    pub network: NetworkName,
    /// Pods that no selector tells apart are of one class. The number of a class is its place here,
    /// from 0.
    #[schemars(length(max = SLICE_PODS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub classes: Vec<SliceClass>,
    /// The pods, sorted by uid.
    #[schemars(length(max = SLICE_PODS_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub pods: Vec<SlicePod>,
}

/// What selectors say of pods.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct SliceClass {
    /// The namespace of the pods.
    pub namespace: NamespaceName,
    /// The selectors that select the pods, by their ids.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "selectors")]
    pub selected_by: BTreeSet<SelectorId>,
    /// The selectors of policies of the namespace that do not select them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "selectors")]
    pub not_selected_by: BTreeSet<SelectorId>,
}

/// A pod.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct SlicePod {
    /// The uid of the pod.
    #[schemars(length(max = UID_MAX))]
    pub uid: String,
    /// The number of its class.
    #[schemars(range(min = 0, max = SLICE_PODS_MAX))]
    pub class: usize,
    /// Its addresses on the network.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "addresses")]
    pub addresses: BTreeSet<IpAddr>,
}

impl UserspacePodSliceSpec {
    /// The pods with their classes. A pod whose class is not there is left out.
    pub fn classified(&self) -> impl Iterator<Item = (&SlicePod, &SliceClass)> {
        self.pods.iter().filter_map(|pod| Some((pod, self.classes.get(pod.class)?)))
    }
}

impl SliceClass {
    /// The class as policies use it.
    pub fn class(&self) -> PodClass {
        let Self { namespace, selected_by, not_selected_by } = self.clone();
        PodClass { namespace, selected_by, not_selected_by }
    }
}

impl From<PodClass> for SliceClass {
    fn from(PodClass { namespace, selected_by, not_selected_by }: PodClass) -> Self {
        Self { namespace, selected_by, not_selected_by }
    }
}

fn selectors(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "items": selector_id(generator), "maxItems": CLASS_SELECTORS_MAX,
        "x-kubernetes-list-type": "atomic",
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
    use std::net::Ipv6Addr;

    #[test]
    fn the_largest_slice_fits_into_the_api_server() {
        let selectors = |first: usize| {
            (0..CLASS_SELECTORS_MAX).map(|place| SelectorId::new((first + place) as u128 | 1 << 127)).collect()
        };
        let class = |place: usize| SliceClass {
            namespace: "n".repeat(63).parse().unwrap(),
            selected_by: selectors(place * 1000),
            not_selected_by: BTreeSet::new(),
        };
        let address = |place: usize| Ipv6Addr::new(!0, !0, !0, !0, !0, !0, !0, 60_000 + u16::try_from(place).unwrap());
        let pod = |place: usize| SlicePod {
            uid: format!("{place:064}"),
            class: place,
            addresses: (0..POD_ADDRESSES_MAX).map(|place| address(place).into()).collect(),
        };
        let spec = UserspacePodSliceSpec {
            network: "n".repeat(63).try_into().unwrap(),
            classes: (0..SLICE_PODS_MAX).map(class).collect(),
            pods: (0..SLICE_PODS_MAX).map(pod).collect(),
        };
        let size = serde_json::to_vec(&spec).unwrap().len();
        assert!((900_000..1_200_000).contains(&size), "{size} bytes");
        assert_eq!(spec.classified().count(), SLICE_PODS_MAX);
    }

    #[test]
    fn a_pod_without_its_class_is_left_out() {
        let pod = |class| SlicePod { uid: "u".to_owned(), class, addresses: BTreeSet::new() };
        let class = SliceClass {
            namespace: "db".parse().unwrap(),
            selected_by: BTreeSet::new(),
            not_selected_by: BTreeSet::new(),
        };
        let network = "blue".parse().unwrap();
        let spec = UserspacePodSliceSpec { network, classes: vec![class], pods: vec![pod(0), pod(1)] };
        assert_eq!(spec.classified().count(), 1);
    }
}
