//! What users write. Lists that are missing and lists that are empty mean the same.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// The annotation of a policy with the NADs that it is for: `name` or `namespace/name`, with commas
/// in between.
pub const POLICY_FOR_ANNOTATION: &str = "k8s.v1.cni.cncf.io/policy-for";

/// Most NADs of one policy.
pub const DEFINITIONS_MAX: usize = 64;

/// Which connections pods may have on the networks that the annotation names.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[kube(
    group = "k8s.cni.cncf.io",
    version = "v1beta1",
    kind = "MultiNetworkPolicy",
    plural = "multi-networkpolicies",
    namespaced,
    schema = "disabled",
    derive = "PartialEq"
)]
#[serde(rename_all = "camelCase", default)]
pub struct MultiNetworkPolicySpec {
    /// The pods of the namespace that the policy is for; an empty selector is all of them.
    pub pod_selector: LabelSelector,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ingress: Vec<IngressRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<EgressRule>,
    /// `Ingress`, `Egress`; without any these are `Ingress`, and `Egress` if there is a rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policy_types: Vec<String>,
}

/// Connections to the pods; without peers from any, without ports to any.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct IngressRule {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<RulePort>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<RulePeer>,
}

/// Connections of the pods; without peers to any, without ports to any.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(default)]
pub struct EgressRule {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<RulePort>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<RulePeer>,
}

/// The port of the destination.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct RulePort {
    /// `TCP`, which is the default, or `UDP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// A number or the name of a port; without it these are all ports of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,
    /// The last port of a range that begins with `port`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_port: Option<i64>,
}

/// The other side: pods, or a block of addresses.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase", default)]
pub struct RulePeer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<LabelSelector>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_block: Option<IpBlock>,
}

/// The addresses of a prefix without those of others.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct IpBlock {
    pub cidr: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
}
