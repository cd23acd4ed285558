//! The device plugin settings of a network.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::{DeviceCount, rules};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// How the network is a resource of its nodes.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
pub struct DevicePluginSpec {
    /// How many interfaces of pods each node has room for: 1 to 1000.
    #[serde(default = "default_devices")]
    #[x_kube(validation = rules::devices())]
    pub devices: i64,
}

fn default_devices() -> i64 {
    DeviceCount::default().into()
}
