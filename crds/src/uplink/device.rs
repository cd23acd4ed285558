//! The device that is a NIC: what users write ([`DeviceSpec`]), its rules in CEL and in Rust, and
//! what nodes read ([`NicDevice`]).

use crate::{MacAddress, NicName, PciAddress};
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub(super) use spec::device;
#[cfg(feature = "api")]
pub use spec::{DeviceSpec, DeviceType};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum NicDevice {
    Name { name: NicName },
    MacAddress { mac_address: MacAddress },
    PciAddress { pci_address: PciAddress },
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::NicDevice;
    use crate::cel::rule;
    use crate::problem::{Problem, Problems};
    use crate::types::mac::{MAC_PATTERN, NO_MAC};
    use crate::types::nic::{NIC_NAME_MAX, NIC_NAME_PATTERN, PCI_ADDRESS_LENGTH, PCI_ADDRESS_PATTERN};
    use crate::uplink::problem::UplinkProblem;
    use crate::{InvalidMac, InvalidNic, MacAddress, NicName, PciAddress};
    use kube::KubeSchema;
    use kube::core::Rule;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// How a NIC is identified.
    #[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DeviceType {
        #[default]
        Name,
        MacAddress,
        PciAddress,
    }

    impl DeviceType {
        pub const ALL: [Self; 3] = [Self::Name, Self::MacAddress, Self::PciAddress];

        pub const fn as_str(self) -> &'static str {
            match self {
                Self::Name => "Name",
                Self::MacAddress => "MacAddress",
                Self::PciAddress => "PciAddress",
            }
        }

        /// The member of the union that belongs to the type.
        pub const fn member(self) -> &'static str {
            match self {
                Self::Name => "name",
                Self::MacAddress => "macAddress",
                Self::PciAddress => "pciAddress",
            }
        }
    }

    /// A NIC, as users identify it.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
    #[serde(rename_all = "camelCase")]
    #[x_kube(
        validation = member(DeviceType::Name),
        validation = member(DeviceType::MacAddress),
        validation = member(DeviceType::PciAddress)
    )]
    pub struct DeviceSpec {
        /// How the NIC is identified: Name, MacAddress or PciAddress, with the member of that name.
        #[serde(rename = "type")]
        pub device_type: DeviceType,
        /// The name of the NIC in Linux, such as eth1; only with the type Name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = NIC_NAME_MAX))]
        #[x_kube(validation = nic_name())]
        pub name: Option<String>,
        /// The MAC address of the NIC; only with the type MacAddress.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = NO_MAC.len()))]
        #[x_kube(validation = mac_address())]
        pub mac_address: Option<String>,
        /// The PCI address of the NIC with its domain, such as 0000:3b:00.0; only with the type
        /// PciAddress.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = PCI_ADDRESS_LENGTH))]
        #[x_kube(validation = pci_address())]
        pub pci_address: Option<String>,
    }

    const fn member_problem(device: DeviceType) -> UplinkProblem {
        UplinkProblem::Member { device_type: device.as_str(), member: device.member() }
    }

    fn member(device: DeviceType) -> Rule {
        let (value, member) = (device.as_str(), device.member());
        rule(format!("(self.type == '{value}') == has(self.{member})"), member_problem(device).to_string())
    }

    fn nic_name() -> Rule {
        let advice = InvalidNic::Name("self".to_owned()).to_string().replace("\"self\"", "this");
        rule(format!("self.matches('{NIC_NAME_PATTERN}') && !(self in ['all', 'default', 'lo'])"), advice)
    }

    fn mac_address() -> Rule {
        rule(
            format!("self.matches('{MAC_PATTERN}') && self != '{NO_MAC}'"),
            "not the MAC address of a NIC: write six pairs of hexadecimal digits with colons, the first pair even",
        )
    }

    fn pci_address() -> Rule {
        let advice = InvalidNic::PciAddress("self".to_owned()).to_string().replace("\"self\"", "this");
        rule(format!("self.matches('{PCI_ADDRESS_PATTERN}')"), advice)
    }

    /// The device, if it breaks no rule.
    pub(crate) fn device(problems: &mut Problems, field: &str, spec: &DeviceSpec) -> Option<NicDevice> {
        let DeviceSpec { device_type, name, mac_address, pci_address } = spec;
        let present = |device: DeviceType| match device {
            DeviceType::Name => name.is_some(),
            DeviceType::MacAddress => mac_address.is_some(),
            DeviceType::PciAddress => pci_address.is_some(),
        };
        for device in DeviceType::ALL {
            if present(device) != (device == *device_type) {
                problems.add(field, member_problem(device).into());
                return None;
            }
        }
        match device_type {
            DeviceType::Name => {
                let name = checked::<NicName, InvalidNic>(problems, &format!("{field}.name"), name.as_deref())?;
                Some(NicDevice::Name { name })
            }
            DeviceType::MacAddress => {
                let field = format!("{field}.macAddress");
                let mac_address = checked::<MacAddress, InvalidMac>(problems, &field, mac_address.as_deref())?;
                Some(NicDevice::MacAddress { mac_address })
            }
            DeviceType::PciAddress => {
                let field = format!("{field}.pciAddress");
                let pci_address = checked::<PciAddress, InvalidNic>(problems, &field, pci_address.as_deref())?;
                Some(NicDevice::PciAddress { pci_address })
            }
        }
    }

    fn checked<T: std::str::FromStr<Err = E>, E: Into<Problem>>(
        problems: &mut Problems,
        field: &str,
        text: Option<&str>,
    ) -> Option<T> {
        problems.check(field, text.unwrap_or_default().parse::<T>())
    }
}
