//! The NIC of some nodes: what users write ([`NicSpec`]), its rules in CEL and in Rust, and what
//! nodes read ([`Nic`]).

use super::device::UplinkDevice;
use super::driver::{Binding, NicDriver, XdpMode};
use crate::{Mtu, Queues};
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub(super) use spec::{NICS_MAX, nics, only_the_last_selects_all};
#[cfg(feature = "api")]
pub use spec::{NicSpec, ValidNic};

/// A NIC, and how the engine uses it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Nic {
    pub device: UplinkDevice,
    #[serde(default)]
    pub driver: NicDriver,
    /// Who takes it from its driver in Linux, where the engine drives it.
    #[serde(default, skip_serializing_if = "Binding::is_default")]
    pub bind: Binding,
    /// How the kernel hands frames to the engine, with AF_XDP.
    #[serde(default, skip_serializing_if = "XdpMode::is_default")]
    pub xdp_mode: XdpMode,
    /// Largest payload, in bytes; none means that of the device or of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Mtu>,
    /// Queues on which it receives; none means the default of the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::Nic;
    use crate::cel::at;
    use crate::network::selectors::{self, selector};
    use crate::problem::{Problem, Problems};
    use crate::uplink::device::{DeviceSpec, DeviceType, device};
    use crate::uplink::driver::{
        AfxdpSpec, Binding, DpdkSpec, NicDriver, XdpMode, afxdp_needs_driver, bind_never_needs_pci_address, mtu,
        needs_dpdk, number, queues,
    };
    use crate::uplink::member::{MemberSpec, MemberType};
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
    #[x_kube(
        validation = needs_dpdk("dpdk"),
        validation = needs_dpdk("mtu"),
        validation = needs_dpdk("queues"),
        validation = afxdp_needs_driver(),
        validation = bind_never_needs_pci_address()
    )]
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
        /// The device that is the NIC, or a bond of several.
        pub device: DeviceSpec,
        /// AFPacket: the engine sends and receives by a packet socket, and Linux keeps the NIC.
        /// AFXDP, only with OVS: the same by AF_XDP, before Linux has the frames. DPDK, only with
        /// OVS: the engine drives the NIC itself, and Linux does not have it.
        #[serde(default)]
        pub driver: NicDriver,
        /// The settings of the driver DPDK; not with another driver.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub dpdk: Option<DpdkSpec>,
        /// The settings of the driver AFXDP; not with another driver.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub afxdp: Option<AfxdpSpec>,
        /// Largest payload of a frame, in bytes: 576 to 9702, default 1500. Only with the driver
        /// DPDK: with the others it is that of the device in Linux.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[x_kube(validation = mtu())]
        pub mtu: Option<i64>,
        /// Queues on which the NIC receives: 1 to 128, default 1. Only with the driver DPDK: with
        /// AFXDP it is those of the NIC (ethtool -L).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[x_kube(validation = queues())]
        pub queues: Option<i64>,
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
        driver_problems(problems, field, spec);
        let mtu = number(problems, &format!("{field}.mtu"), spec.mtu);
        let queues = number(problems, &format!("{field}.queues"), spec.queues);
        let bind = spec.dpdk.as_ref().map_or(Binding::default(), |dpdk| dpdk.bind);
        let xdp_mode = spec.afxdp.as_ref().map_or(XdpMode::default(), |afxdp| afxdp.mode);
        let (nodes, device) = nodes.zip(device)?;
        Some(ValidNic { nodes, nic: Nic { device, driver: spec.driver, bind, xdp_mode, mtu, queues } })
    }

    /// Adds what the rules of one NIC say.
    fn driver_problems(problems: &mut Problems, field: &str, spec: &NicSpec) {
        let is_dpdk = spec.driver == NicDriver::Dpdk;
        let only_dpdk = [("dpdk", spec.dpdk.is_some()), ("mtu", spec.mtu.is_some()), ("queues", spec.queues.is_some())];
        for (member, is_present) in only_dpdk {
            let problem = UplinkProblem::NeedsDpdk { field: member };
            problems.add_if(is_present && !is_dpdk, &format!("{field}.{member}"), problem.into());
        }
        let is_afxdp = spec.driver == NicDriver::AfXdp;
        let problem = UplinkProblem::NeedsAfxdp;
        problems.add_if(spec.afxdp.is_some() && !is_afxdp, &format!("{field}.afxdp"), problem.into());
        let is_bound = spec.dpdk.as_ref().is_some_and(|dpdk| dpdk.bind == Binding::WhenFree);
        let DeviceSpec { device_type, bond, .. } = &spec.device;
        let is_address = |member: &MemberSpec| member.device_type == MemberType::PciAddress;
        let has_address = *device_type == DeviceType::PciAddress
            || bond.as_ref().is_some_and(|bond| bond.members.iter().all(is_address));
        let is_unknown = is_dpdk && !is_bound && !has_address;
        problems.add_if(is_unknown, &format!("{field}.device"), UplinkProblem::DpdkNeedsPciAddress.into());
    }
}
