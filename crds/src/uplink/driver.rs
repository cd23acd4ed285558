//! How an engine drives a NIC: what users write, its rules in CEL and in Rust, and what nodes read.

use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub use spec::{AfxdpSpec, DpdkSpec};
#[cfg(feature = "api")]
pub(super) use spec::{
    afxdp_needs_driver, bind_never_needs_pci_address, drivers_need_open_vswitch, mtu, needs_dpdk, number, queues,
    shared_needs_af_packet,
};

/// How an engine sends and receives on a NIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum NicDriver {
    /// The engine uses a packet socket; the NIC stays with Linux.
    #[default]
    #[serde(rename = "AFPacket")]
    AfPacket,
    /// The engine reads and writes frames of the NIC by AF_XDP, before Linux has them.
    #[serde(rename = "AFXDP")]
    AfXdp,
    /// The engine drives the NIC itself by DPDK; Linux does not have it any more.
    #[serde(rename = "DPDK")]
    Dpdk,
}

/// How the kernel hands frames to an AF_XDP socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum XdpMode {
    /// The fastest that the driver of the NIC has.
    #[default]
    BestEffort,
    /// By the kernel, whatever the driver: the slowest.
    Generic,
    /// By the driver, with a copy.
    Native,
    /// By the driver, without a copy.
    ZeroCopy,
}

impl XdpMode {
    /// Whether it is the default, which node files leave out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Who takes a NIC from its driver in Linux.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "api", derive(schemars::JsonSchema))]
pub enum Binding {
    /// The administrator of the node, before the uplink is created.
    #[default]
    Never,
    /// The agent, if nothing on the node uses the NIC; it gives it back when the uplink is gone.
    WhenFree,
}

impl Binding {
    /// Whether it is the default, which node files leave out.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::{Binding, XdpMode};
    use crate::cel::{at, is, is_set, range, with_engine};
    use crate::problem::{Problem, Problems};
    use crate::types::limits::Queues;
    use crate::uplink::member::MemberType;
    use crate::uplink::problem::UplinkProblem;
    use crate::{EngineKind, Mtu};
    use kube::KubeSchema;
    use kube::core::Rule;
    use serde::{Deserialize, Serialize};

    /// The settings of the driver DPDK.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
    pub struct DpdkSpec {
        /// Never: the administrator has bound the NIC to vfio-pci. WhenFree: the agent binds it, if
        /// nothing on the node uses it, and gives it back when the uplink is gone; that needs the
        /// component nic-binding.
        #[serde(default)]
        pub bind: Binding,
    }

    /// The settings of the driver AFXDP.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
    pub struct AfxdpSpec {
        /// BestEffort: the fastest that the driver of the NIC in Linux has. Generic: by the kernel,
        /// with every driver. Native and ZeroCopy: by that driver, with and without a copy; if it
        /// has none, the uplink fails.
        #[serde(default)]
        pub mode: XdpMode,
    }

    const DPDK: &str = "DPDK";
    const AFXDP: &str = "AFXDP";
    const AF_PACKET: &str = "AFPacket";

    /// A field that only a NIC with the driver DPDK has.
    pub(crate) fn needs_dpdk(field: &'static str) -> Rule {
        let path = format!(".{field}");
        let rule = format!("!{} || {}", is_set(&path), is(".driver", DPDK));
        at(&path, rule, &UplinkProblem::NeedsDpdk { field }.into())
    }

    pub(crate) fn afxdp_needs_driver() -> Rule {
        let rule = format!("!{} || {}", is_set(".afxdp"), is(".driver", AFXDP));
        at(".afxdp", rule, &UplinkProblem::NeedsAfxdp.into())
    }

    /// Only its address identifies a NIC that Linux does not drive.
    pub(crate) fn bind_never_needs_pci_address() -> Rule {
        let (is_dpdk, is_bound) = (is(".driver", DPDK), is(".dpdk.bind", "WhenFree"));
        let (address, _) = MemberType::PciAddress.names();
        let members = format!("has(self.device.bond) && self.device.bond.members.all(m, m.type == '{address}')");
        let rule = format!("!{is_dpdk} || {is_bound} || self.device.type == '{address}' || {members}");
        at(".device", rule, &UplinkProblem::DpdkNeedsPciAddress.into())
    }

    /// A rule of the spec of an uplink.
    pub(crate) fn drivers_need_open_vswitch() -> Rule {
        let without = format!("!self.nics.exists(n, has(n.driver) && n.driver != '{AF_PACKET}')");
        at(".nics", with_engine(EngineKind::Vpp, &without), &UplinkProblem::DriverEngine.into())
    }

    /// A rule of the spec of an uplink.
    pub(crate) fn shared_needs_af_packet() -> Rule {
        let shared = is(".nodeTraffic", "Shared");
        let rule = format!("!{shared} || !self.nics.exists(n, has(n.driver) && n.driver != '{AF_PACKET}')");
        at(".nodeTraffic", rule, &UplinkProblem::SharedDriver.into())
    }

    pub(crate) fn mtu() -> Rule {
        range("MTU", Mtu::MINIMUM, Mtu::MAXIMUM)
    }

    pub(crate) fn queues() -> Rule {
        range("number of queues", Queues::MINIMUM, Queues::MAXIMUM)
    }

    /// The value, if it is a number in its range.
    pub(crate) fn number<T: TryFrom<i64, Error = E>, E: Into<Problem>>(
        problems: &mut Problems,
        field: &str,
        value: Option<i64>,
    ) -> Option<T> {
        problems.check(field, T::try_from(value?))
    }
}
