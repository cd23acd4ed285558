//! The resource of a network: what users write ([`DevicePluginSpec`]) with its rule, and what nodes
//! read ([`DevicePlugin`]).

use crate::types::limits::DeviceCount;
use crate::types::number::OutOfRange;
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub use spec::DevicePluginSpec;

/// How kubelet counts the attachments of a network on one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub struct DevicePlugin {
    /// How many interfaces of pods a node has room for.
    pub devices: DeviceCount,
}

impl TryFrom<i64> for DevicePlugin {
    type Error = OutOfRange;
    fn try_from(devices: i64) -> Result<Self, OutOfRange> {
        Ok(Self { devices: devices.try_into()? })
    }
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use crate::cel::range;
    use crate::types::limits::DeviceCount;
    use kube::KubeSchema;
    use kube::core::Rule;
    use serde::{Deserialize, Serialize};

    /// How the network is a resource of its nodes.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
    pub struct DevicePluginSpec {
        /// How many interfaces of pods each node has room for: 1 to 1000.
        #[serde(default = "default_devices")]
        #[x_kube(validation = devices())]
        pub devices: i64,
    }

    fn default_devices() -> i64 {
        DeviceCount::default().into()
    }

    fn devices() -> Rule {
        range("number of devices", DeviceCount::MINIMUM, DeviceCount::MAXIMUM)
    }
}
