//! What a network says of its ports.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::{Memif, PortType, Queues, RingSize, VhostUser, rules};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every port of a network starts from.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PortSpec {
    /// How a pod's interface meets the engine: VhostUser, or with VPP also Memif. Default VhostUser with OVS, Memif with VPP. A change is for
    /// pods that attach from then on.
    // The API server knows no default that depends on another field. It leaves the field out, and who reads it asks the engine.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PortType")]
    pub port_type: Option<PortType>,
    /// Queue pairs, told to the pod's program: 1 to 128.
    #[serde(default = "default_queues")]
    #[x_kube(validation = rules::queues())]
    pub queues: i64,
    /// Descriptors of each ring, told to the pod's program: a power of two from 2 to 32768. A memif has no more than 16384, whatever its
    /// program asks for.
    #[serde(default = "default_ring_size")]
    #[x_kube(validation = rules::ring_size())]
    pub ring_size: i64,
    /// The VLAN of the ports; default untagged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<VlanSpec>,
    /// Only with the type Memif.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rules::engines::memif_secret())]
    pub memif: Option<Memif>,
    /// Only with the type VhostUser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vhost_user: Option<VhostUser>,
}

/// The VLAN of a port.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VlanSpec {
    /// How frames are tagged. Access: untagged at the pod, in one VLAN on the bridge.
    pub mode: VlanMode,
    /// The VLAN, 1 to 4094.
    #[x_kube(validation = rules::vlan_tag())]
    pub tag: i64,
}

/// How the frames of a port are tagged.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub enum VlanMode {
    /// Untagged at the pod, in one VLAN on the bridge.
    Access,
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
            memif: None,
            vhost_user: None,
        }
    }
}
