//! The NIC of some nodes: what users write ([`NicSpec`]), its rules in CEL and in Rust, and what
//! nodes read ([`Nic`]).

use super::device::NicDevice;
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub(super) use spec::{NICS_MAX, nics, only_the_last_selects_all};
#[cfg(feature = "api")]
pub use spec::{NicSpec, ValidNic};

/// A NIC, and how the engine uses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nic {
    pub device: NicDevice,
    #[serde(default)]
    pub driver: NicDriver,
}

/// How an engine sends and receives on a NIC. There is one way so far; AF_XDP and DPDK are to
/// follow, so that specs and node files name it from the beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum NicDriver {
    /// The engine uses a packet socket; the NIC stays with Linux.
    #[default]
    #[serde(rename = "AFPacket")]
    AfPacket,
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::{Nic, NicDriver};
    use crate::cel::at;
    use crate::network::selectors::{self, selector};
    use crate::problem::{Problem, Problems};
    use crate::uplink::device::{DeviceSpec, device};
    use crate::uplink::problem::UplinkProblem;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
    use kube::KubeSchema;
    use kube::core::{Rule, Selector};
    use serde::{Deserialize, Serialize};

    /// Most NICs of one uplink, of which each node has one.
    pub(crate) const NICS_MAX: usize = 16;

    /// The NIC of some nodes.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
    #[serde(rename_all = "camelCase")]
    pub struct NicSpec {
        /// Nodes with this NIC; default every other node that has the engine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(schema_with = "selectors::short_label_selector")]
        #[x_kube(
            validation = selectors::values_fit_operator(),
            validation = selectors::match_labels_are_labels(),
            validation = selectors::match_expressions_are_labels()
        )]
        pub node_selector: Option<LabelSelector>,
        /// The device that is the NIC.
        pub device: DeviceSpec,
        /// AFPacket: the engine sends and receives by a packet socket, and Linux keeps the NIC.
        #[serde(default)]
        pub driver: NicDriver,
    }

    /// A NIC that breaks no rule.
    #[derive(Debug, Clone, PartialEq)]
    pub struct ValidNic {
        /// The nodes with this NIC; none means every node that has the engine.
        pub nodes: Option<Selector>,
        pub nic: Nic,
    }

    /// A rule of the spec of an uplink.
    pub(crate) fn only_the_last_selects_all() -> Rule {
        let without = "self.nics.filter(n, !has(n.nodeSelector))";
        let is_last = "!has(self.nics[size(self.nics) - 1].nodeSelector)";
        at(
            ".nics",
            format!("size(self.nics) == 0 || size({without}) == 0 || (size({without}) == 1 && {is_last})"),
            &UplinkProblem::NotLast.into(),
        )
    }

    /// The NICs that break no rule.
    pub(crate) fn nics(problems: &mut Problems, specs: &[NicSpec]) -> Vec<ValidNic> {
        problems.add_if(specs.is_empty(), "spec.nics", UplinkProblem::NoNic.into());
        let too_many = Problem::TooMany { count: specs.len(), maximum: NICS_MAX };
        problems.add_if(specs.len() > NICS_MAX, "spec.nics", too_many);
        let mut before_last = specs.iter().rev().skip(1);
        let is_hidden = before_last.any(|nic| nic.node_selector.is_none());
        problems.add_if(is_hidden, "spec.nics", UplinkProblem::NotLast.into());
        let numbered = specs.iter().enumerate();
        numbered.filter_map(|(index, spec)| nic(problems, &format!("spec.nics[{index}]"), spec)).collect()
    }

    fn nic(problems: &mut Problems, field: &str, spec: &NicSpec) -> Option<ValidNic> {
        let nodes = match &spec.node_selector {
            Some(nodes) => selector(problems, &format!("{field}.nodeSelector"), nodes).map(Some),
            None => Some(None),
        };
        let device = device(problems, &format!("{field}.device"), &spec.device);
        let (nodes, device) = nodes.zip(device)?;
        Some(ValidNic { nodes, nic: Nic { device, driver: spec.driver } })
    }
}
