//! The bridge settings of a network.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::{MacAge, MacLearning, Mtu, Ownership, rules};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The bridge of a network on each node: a bridge of Open vSwitch, or a bridge domain of VPP.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = rules::immutable("bridge", "name"), validation = rules::immutable("bridge", "id"))]
pub struct BridgeSpec {
    /// With OVS: the name of the bridge; default br- and the network's name, shortened where that is longer than 15 characters. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = rules::bridge_name(), validation = rules::bridge_name_not_reserved())]
    pub name: Option<String>,
    /// With VPP: the id of the bridge domain, 1 to 16777215; default one from 8388608 on that follows from the network's name and is the same on
    /// every node. It cannot change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = rules::bridge_domain_id())]
    pub id: Option<i64>,
    /// Its MTU in bytes, and that of every port on it: 576 to 9702.
    #[serde(default = "default_mtu")]
    #[x_kube(validation = rules::mtu())]
    pub mtu: i64,
    /// Whether the bridge learns where MAC addresses are: Enabled, or Disabled, with which each frame goes to every port.
    #[serde(default)]
    pub mac_learning: MacLearning,
    /// How long the bridge remembers a MAC address that it hears no more of, in seconds. OVS: 15 to 3600. VPP: 60 to 15300 in whole minutes.
    #[serde(default = "default_mac_age_seconds")]
    pub mac_age_seconds: i64,
    /// Managed: the bridge is made, kept as it is written here, and removed with the network. Adopted: somebody else made it, and it must be named
    /// (OVS: name, VPP: id); it gets ports, of which `mtu` is the MTU, and nothing else of it is changed. It cannot change.
    #[serde(default)]
    #[x_kube(validation = rules::ownership_immutable())]
    pub ownership: Ownership,
}

fn default_mtu() -> i64 {
    Mtu::default().into()
}

fn default_mac_age_seconds() -> i64 {
    MacAge::default().into()
}

impl Default for BridgeSpec {
    fn default() -> Self {
        Self {
            name: None,
            id: None,
            mtu: default_mtu(),
            mac_learning: MacLearning::default(),
            mac_age_seconds: default_mac_age_seconds(),
            ownership: Ownership::default(),
        }
    }
}
