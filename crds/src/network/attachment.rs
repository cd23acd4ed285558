//! The settings of a network for single pods.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::{RateLimitSpec, VlanSpec};
use crate::fixed_attachment::CIDR_MAX;
use crate::mac::NO_MAC;
use crate::names::{NAMESPACE_NAME_MAX, POD_NAME_MAX};
use crate::rules;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Most pods with fixed settings in one network. With [`IPS_MAX`] it keeps the rule that addresses
/// are unique within the cost limit of the API server.
pub const ATTACHMENTS_MAX: usize = 128;
/// Most addresses of one pod: one of each family.
pub const IPS_MAX: usize = 2;

/// What the name of a pod fixes. What is left out is as the network says.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentSpec {
    /// The pod's namespace.
    #[schemars(length(max = NAMESPACE_NAME_MAX))]
    #[x_kube(validation = rules::attachments::namespace())]
    pub namespace: String,
    /// The pod's name. A pod of this name need not be there yet.
    #[schemars(length(max = POD_NAME_MAX))]
    #[x_kube(validation = rules::attachments::pod())]
    pub pod: String,
    /// Its addresses with prefix lengths, instead of those that `ipam` would choose; at most 2. They are one interface's, and a second one of the pod on this network is refused. A change is for pods that attach from then on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = IPS_MAX), inner(length(max = CIDR_MAX)))]
    #[x_kube(validation = rules::attachments::ips())]
    pub ips: Vec<String>,
    /// Its MAC address. It is one interface's, and a second one of the pod on this network is refused. A change is for pods that attach from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NO_MAC.len()))]
    #[x_kube(validation = rules::attachments::mac())]
    pub mac: Option<String>,
    /// Its VLAN, instead of `port.vlan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanSpec>,
    /// Its rate, instead of `port.rateLimit`; {} means no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitSpec>,
}
