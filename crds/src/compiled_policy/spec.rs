//! The object, with bounds by which the API server and nodes can store it.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]
#![expect(clippy::duplicated_attributes, reason = "columns repeat words, as they must")]

use super::name::OBJECT_NAME_MAX;
use crate::cel::rule;
use crate::multi_network_policy::spec::DEFINITIONS_MAX;
use crate::names::NETWORK_NAME_MAX;
use crate::policy::pods::{SELECTOR_ID_LENGTH, SelectorId};
use crate::policy::rule::TransportProtocol;
use crate::policy::{PEERS_MAX, PORTS_MAX, RULES_MAX};
use crate::types::limits::{CIDR_MAX, NUMBER_MAX};
use crate::{NamespaceName, NetworkName};
use ipnet::IpNet;
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What nodes enforce of one policy.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "CompiledPolicy",
    plural = "compiledpolicies",
    shortname = "ucp",
    category = "usnet",
    derive = "PartialEq",
    doc = "What nodes enforce of one MultiNetworkPolicy. Only the controller of policies writes it; agents watch it.",
    printcolumn(name = "Namespace", type_ = "string", json_path = ".spec.namespace"),
    printcolumn(name = "Policy", type_ = "string", json_path = ".spec.name"),
    printcolumn(name = "Networks", type_ = "string", json_path = ".spec.networks"),
    printcolumn(
        name = "Generation",
        type_ = "integer",
        json_path = ".spec.generation",
        description = "of the MultiNetworkPolicy"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
// What another client has applied would stay beside it otherwise.
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct CompiledPolicySpec {
    /// The networks that the policy is for, sorted.
    #[schemars(schema_with = "networks")]
    pub networks: BTreeSet<NetworkName>,
    /// The namespace of the policy, of whose pods it restricts all, or some.
    pub namespace: NamespaceName,
    /// The name of the policy.
    #[schemars(length(max = OBJECT_NAME_MAX))]
    pub name: String,
    /// The `metadata.generation` of the MultiNetworkPolicy that this was compiled from.
    #[schemars(range(min = 0, max = NUMBER_MAX))]
    pub generation: i64,
    /// Which connections to the pods are allowed: those that any of the rules allows, and none
    /// without rules. If it is left out, the policy does not restrict them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = RULES_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ingress: Option<Vec<CompiledRule>>,
    /// Which connections of the pods are allowed: those that any of the rules allows, and none
    /// without rules. If it is left out, the policy does not restrict them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = RULES_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub egress: Option<Vec<CompiledRule>>,
    /// A policy for some pods of the namespace has its rules here. `ingress` and `egress` are empty
    /// then or left out, so that agents that know no labels close all pods of the namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<SelectedPods>,
}

/// Some pods of a namespace, and which connections they may have.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct SelectedPods {
    /// The id of the selector of the pods. Which pods it selects is in UserspacePodSlices.
    #[schemars(schema_with = "selector_id")]
    pub selector: SelectorId,
    /// As `ingress` of a policy for all pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = RULES_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub ingress: Option<Vec<CompiledRule>>,
    /// As `egress` of a policy for all pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = RULES_MAX))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub egress: Option<Vec<CompiledRule>>,
}

/// Connections with any of the peers to any of the ports.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct CompiledRule {
    /// The addresses of the other side, as prefixes; any if it is left out, and none if it is
    /// empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "peers")]
    pub peers: Option<BTreeSet<IpNet>>,
    /// The other side besides: pods that any of these selectors selects, by their ids.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(schema_with = "peer_pods")]
    pub pods: BTreeSet<SelectorId>,
    /// The ports of the destination; any, and protocols without ports, if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "ports")]
    pub ports: Option<BTreeSet<CompiledPorts>>,
}

/// Ports of a protocol.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[x_kube(validation = first_to_last())]
pub struct CompiledPorts {
    /// TCP or UDP.
    pub protocol: TransportProtocol,
    /// The first port.
    pub first: u16,
    /// The last port.
    pub last: u16,
}

fn first_to_last() -> Rule {
    rule("self.first <= self.last", "the range of ports ends before it begins")
}

fn networks(_: &mut SchemaGenerator) -> Schema {
    list(&json_schema!({"type": "string", "maxLength": NETWORK_NAME_MAX}), DEFINITIONS_MAX)
}

/// Empty if the peers are pods: without it, they would be any.
fn peers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array", "items": {"type": "string", "maxLength": CIDR_MAX}, "maxItems": PEERS_MAX,
        "x-kubernetes-list-type": "atomic",
    })
}

fn peer_pods(generator: &mut SchemaGenerator) -> Schema {
    list(&selector_id(generator), PEERS_MAX)
}

pub(crate) fn selector_id(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "maxLength": SELECTOR_ID_LENGTH, "pattern": "^[0-9a-f]{32}$"})
}

fn ports(generator: &mut SchemaGenerator) -> Schema {
    list(&generator.subschema_for::<CompiledPorts>(), PORTS_MAX)
}

/// An empty list would mean the opposite of one that is left out: what would have one is left out
/// itself.
fn list(items: &Schema, most: usize) -> Schema {
    json_schema!({
        "type": "array", "items": items, "minItems": 1, "maxItems": most, "x-kubernetes-list-type": "atomic",
    })
}
