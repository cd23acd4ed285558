//! What users write, and its rules in CEL.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]
#![expect(clippy::duplicated_attributes, reason = "columns repeat words, as they must")]

use super::problem::ReservationProblem;
use super::status::UserspaceReservationStatus;
use crate::attachment::spec::network;
use crate::cel::at;
use crate::network::attachments::{ips, mac, pods};
use crate::network::{RateLimitSpec, VlanSpec};
use crate::problem::Problem;
use crate::types::limits::{CIDR_MAX, IPS_MAX, RESERVATION_PODS_MAX, RESERVATION_TRUNKS_MAX};
use crate::types::mac::NO_MAC;
use crate::types::names::{NETWORK_NAME_MAX, POD_NAME_MAX};
use kube::core::Rule;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// Settings that the names of pods fix on a network, as far as the network allows it.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "usnet.dev",
    version = "v1alpha1",
    kind = "UserspaceReservation",
    namespaced,
    shortname = "usnr",
    category = "usnet",
    category = "userspace",
    status = "UserspaceReservationStatus",
    derive = "PartialEq",
    doc = "Addresses, MAC, VLAN and rate of a pod, or of pods of a StatefulSet, on a network, by their names. The pods are of the same namespace. The network says what reservations may fix, in spec.reservations.",
    printcolumn(name = "Pod", type_ = "string", json_path = ".spec.pod"),
    printcolumn(name = "Network", type_ = "string", json_path = ".spec.network"),
    printcolumn(name = "IPs", type_ = "string", json_path = ".spec.ips"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = few_trunks())]
pub struct UserspaceReservationSpec {
    /// The name of the UserspaceNetwork. Its namespaceSelector has to select the namespace.
    #[schemars(length(max = NETWORK_NAME_MAX))]
    #[x_kube(validation = network())]
    pub network: String,
    /// The name of the pod, or those of pods of a StatefulSet: `db-{0..9}`, at most 100. They need
    /// not exist yet.
    #[schemars(length(max = POD_NAME_MAX))]
    #[x_kube(validation = pods(RESERVATION_PODS_MAX))]
    pub pod: String,
    /// The addresses of the pod with prefix lengths, instead of those that `ipam` of the network
    /// would choose; at most 2. Of several pods these are the addresses of the first, and each next
    /// pod has the next ones. They belong to one interface. A change applies to pods that attach
    /// afterwards.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = IPS_MAX), inner(length(max = CIDR_MAX)))]
    #[x_kube(validation = ips(), merge_strategy = ListMerge::Atomic)]
    pub ips: Vec<String>,
    /// The MAC address of the pod's interface; of several pods that of the first. It belongs to one
    /// interface, as `ips` do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NO_MAC.len()))]
    #[x_kube(validation = mac())]
    pub mac: Option<String>,
    /// The VLAN of the port, instead of `port.vlan` of the network; at most 32 `trunks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanSpec>,
    /// The rate limit of the port, instead of `port.rateLimit` of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimitSpec>,
}

/// All nodes store each VLAN of each reservation.
fn few_trunks() -> Rule {
    at(
        ".vlan.trunks",
        format!("!has(self.vlan) || !has(self.vlan.trunks) || size(self.vlan.trunks) <= {RESERVATION_TRUNKS_MAX}"),
        &Problem::from(ReservationProblem::Trunks),
    )
}
