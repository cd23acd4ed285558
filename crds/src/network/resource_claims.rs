//! Resource claims (Kubernetes' dynamic resource allocation) for ports of a network: what users
//! write ([`ResourceClaimsSpec`]) with its rule, and what nodes read ([`ResourceClaims`]).

use crate::types::limits::DeviceCount;
use crate::types::number::OutOfRange;
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub use spec::ResourceClaimsSpec;

/// How many ports of a network one node offers to resource claims.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub struct ResourceClaims {
    /// How many claims a node has room for.
    pub ports: DeviceCount,
}

impl TryFrom<i64> for ResourceClaims {
    type Error = OutOfRange;
    fn try_from(ports: i64) -> Result<Self, OutOfRange> {
        Ok(Self { ports: ports.try_into()? })
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

    /// How resource claims get ports of the network.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ResourceClaimsSpec {
        /// How many ports each node offers to resource claims: 1 to 1000.
        #[serde(default = "default_ports")]
        #[x_kube(validation = ports())]
        pub ports: i64,
    }

    fn default_ports() -> i64 {
        DeviceCount::default().into()
    }

    fn ports() -> Rule {
        range("number of ports", DeviceCount::MINIMUM, DeviceCount::MAXIMUM)
    }
}
