//! What users write, and its rules in CEL.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]
#![expect(clippy::duplicated_attributes, reason = "columns repeat words, as they must")]

use super::status::UserspaceAttachmentStatus;
use crate::cel::rule;
use crate::network::attachments::{mac, pod};
use crate::network::port::RateLimitSpec;
use crate::types::limits::{CIDR_MAX, IPS_MAX};
use crate::types::mac::NO_MAC;
use crate::types::names::{NETWORK_NAME_MAX, POD_NAME_MAX};
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Longest name of an interface, in bytes (`IFNAMSIZ` without its NUL).
pub const INTERFACE_MAX: usize = 15;
/// Pattern of names of interfaces: they are also names of devices and of files.
pub const INTERFACE_PATTERN: &str = "^[a-zA-Z0-9][a-zA-Z0-9._-]*$";
/// Interfaces that every pod has.
pub const RESERVED_INTERFACES: [&str; 2] = ["eth0", "lo"];
/// The finalizer, which stays until the interface is detached.
pub const FINALIZER: &str = "usnet.dev/attached";

/// An interface of a running pod on a network, without Multus.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspaceAttachment",
    namespaced,
    shortname = "usna",
    category = "usnet",
    category = "userspace",
    status = "UserspaceAttachmentStatus",
    derive = "PartialEq",
    doc = "An interface of a running pod on a network, attached while this object exists. The pod is one of the same namespace; with the pod the object is deleted.",
    printcolumn(name = "Pod", type_ = "string", json_path = ".spec.pod"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.network"),
    printcolumn(name = "Interface", type_ = "string", json_path = ".spec.interface"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Node", type_ = "string", json_path = ".status.node", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = immutable())]
pub struct UserspaceAttachmentSpec {
    /// The name of the pod, of the same namespace. It need not exist yet.
    #[schemars(length(max = POD_NAME_MAX))]
    #[x_kube(validation = pod())]
    pub pod: String,
    /// The name of the UserspaceNetwork. Its namespaceSelector has to select the namespace.
    #[schemars(length(max = NETWORK_NAME_MAX))]
    #[x_kube(validation = network())]
    pub network: String,
    /// The name of the interface in the pod, and of its socket and description.
    #[schemars(length(max = INTERFACE_MAX))]
    #[x_kube(validation = interface())]
    pub interface: String,
    /// The MAC address of the interface; by default one is derived. `attachments` of the network
    /// take precedence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NO_MAC.len()))]
    #[x_kube(validation = mac())]
    pub mac: Option<String>,
    /// The addresses of the interface, at most 2; without IPAM of the network with prefix lengths.
    /// `attachments` of the network take precedence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = IPS_MAX), inner(length(max = CIDR_MAX)))]
    #[x_kube(validation = ips(), merge_strategy = ListMerge::Atomic)]
    pub ips: Vec<String>,
    /// How much the interface may send and receive; the limits of the network apply as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitSpec>,
}

fn immutable() -> Rule {
    rule(
        "self == oldSelf",
        "an attachment cannot be changed: delete it and create another one, under another name where a repository delivers it",
    )
}

pub(crate) fn network() -> Rule {
    rule(
        format!("size(self) <= {NETWORK_NAME_MAX} && self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')"),
        format!("not the name of a network: use 1 to {NETWORK_NAME_MAX} lower-case letters, digits and '-'"),
    )
}

fn interface() -> Rule {
    let reserved = RESERVED_INTERFACES.map(|name| format!("'{name}'")).join(", ");
    rule(
        format!("size(self) <= {INTERFACE_MAX} && self.matches('{INTERFACE_PATTERN}') && !(self in [{reserved}])"),
        format!(
            "not the name of an interface that can be added: use 1 to {INTERFACE_MAX} letters, digits, '.', '_' and '-', and neither eth0 nor lo"
        ),
    )
}

fn ips() -> Rule {
    rule(
        "self.all(ip, isIP(ip) || isCIDR(ip))",
        "not an IP address: write it with or without a prefix length, such as 10.56.217.5/24",
    )
}
