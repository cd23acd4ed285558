//! The port settings of a network.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::VlanSpec;
use crate::{Memif, PortType, Queues, RingSize, VhostUser, rules};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What every port of a network starts from.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PortSpec {
    /// How a pod's interface meets the engine: VhostUser, Veth, or with VPP also Memif. Default VhostUser with OVS, Memif with VPP. A change is
    /// for pods that attach from then on.
    // CRD defaults cannot depend on another field. So the field is left out, and readers derive the
    // default from the engine.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PortType")]
    pub port_type: Option<PortType>,
    /// Queue pairs, told to the pod's program: 1 to 128. Not for Veth.
    #[serde(default = "default_queues")]
    #[x_kube(validation = rules::queues())]
    pub queues: i64,
    /// Descriptors of each ring, told to the pod's program: a power of two from 2 to 32768. A memif has no more than 16384, whatever its
    /// program asks for. Not for Veth.
    #[serde(default = "default_ring_size")]
    #[x_kube(validation = rules::ring_size())]
    pub ring_size: i64,
    /// The VLAN of the ports; default untagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanSpec>,
    /// How much each port may send and receive; default no limit.
    #[serde(default)]
    pub rate_limit: RateLimitSpec,
    /// Only with the type Memif.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rules::engines::memif_secret())]
    pub memif: Option<Memif>,
    /// Only with the type VhostUser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vhost_user: Option<VhostUser>,
}

/// How much a port may send and receive, as the pod sees it.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitSpec {
    /// What the pod receives, in thousands of bits per second; 0 means no limit.
    #[serde(default)]
    #[x_kube(validation = rules::rate())]
    pub ingress_kbps: i64,
    /// What the pod sends, in thousands of bits per second; 0 means no limit. Not for Veth with OVS.
    #[serde(default)]
    #[x_kube(validation = rules::rate())]
    pub egress_kbps: i64,
}

fn default_queues() -> i64 {
    Queues::default().into()
}

fn default_ring_size() -> i64 {
    RingSize::default().into()
}

impl Default for PortSpec {
    fn default() -> Self {
        Self {
            port_type: None,
            queues: default_queues(),
            ring_size: default_ring_size(),
            vlan: None,
            rate_limit: RateLimitSpec::default(),
            memif: None,
            vhost_user: None,
        }
    }
}
