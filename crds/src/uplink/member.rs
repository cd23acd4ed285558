//! One NIC: what users write ([`MemberSpec`]), its rules in CEL and in Rust, and what nodes read
//! ([`NicDevice`]).

use crate::{MacAddress, NicName, PciAddress};
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub use spec::{MemberSpec, MemberType};
#[cfg(feature = "api")]
pub(super) use spec::{are_together, belongs, mac_address, nic_device, nic_name, pci_address};

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

    /// The value of a type, and the member of the union that belongs to it.
    pub type Names = (&'static str, &'static str);

    /// How a NIC is identified.
    #[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum MemberType {
        #[default]
        Name,
        MacAddress,
        PciAddress,
    }

    impl MemberType {
        pub const ALL: [Self; 3] = [Self::Name, Self::MacAddress, Self::PciAddress];

        /// The value in the API, and the member of the union that belongs to it.
        pub const fn names(self) -> Names {
            match self {
                Self::Name => ("Name", "name"),
                Self::MacAddress => ("MacAddress", "macAddress"),
                Self::PciAddress => ("PciAddress", "pciAddress"),
            }
        }
    }

    /// A NIC, as users identify it: a member of a bond.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
    #[serde(rename_all = "camelCase")]
    #[x_kube(
        validation = belongs(MemberType::Name.names()),
        validation = belongs(MemberType::MacAddress.names()),
        validation = belongs(MemberType::PciAddress.names())
    )]
    pub struct MemberSpec {
        /// How the NIC is identified: Name, MacAddress or PciAddress, with the member of that name.
        #[serde(rename = "type")]
        pub device_type: MemberType,
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

    const fn apart((device_type, member): Names) -> UplinkProblem {
        UplinkProblem::Member { device_type, member }
    }

    /// A rule that a type has its member, and no other type has it.
    pub(crate) fn belongs(names: Names) -> Rule {
        let (value, member) = names;
        rule(format!("(self.type == '{value}') == has(self.{member})"), apart(names).to_string())
    }

    /// Whether each type is the chosen one if, and only if, its member is present; adds the first
    /// that is not.
    pub(crate) fn are_together(
        problems: &mut Problems,
        field: &str,
        types: impl IntoIterator<Item = (Names, bool, bool)>,
    ) -> bool {
        let wrong = types.into_iter().find(|(_, is_chosen, is_present)| is_chosen != is_present);
        wrong.map(|(names, ..)| problems.add(field, apart(names).into())).is_none()
    }

    pub(crate) fn nic_name() -> Rule {
        let advice = InvalidNic::Name("self".to_owned()).to_string().replace("\"self\"", "this");
        rule(format!("self.matches('{NIC_NAME_PATTERN}') && !(self in ['all', 'default', 'lo'])"), advice)
    }

    pub(crate) fn mac_address() -> Rule {
        rule(
            format!("self.matches('{MAC_PATTERN}') && self != '{NO_MAC}'"),
            "not the MAC address of a NIC: write six pairs of hexadecimal digits with colons, the first pair even",
        )
    }

    pub(crate) fn pci_address() -> Rule {
        let advice = InvalidNic::PciAddress("self".to_owned()).to_string().replace("\"self\"", "this");
        rule(format!("self.matches('{PCI_ADDRESS_PATTERN}')"), advice)
    }

    /// The NIC, if it breaks no rule.
    pub(crate) fn nic_device(problems: &mut Problems, field: &str, spec: &MemberSpec) -> Option<NicDevice> {
        let MemberSpec { device_type, name, mac_address, pci_address } = spec;
        let present = [name.is_some(), mac_address.is_some(), pci_address.is_some()];
        let types = MemberType::ALL.into_iter().zip(present);
        let types = types.map(|(kind, is_present)| (kind.names(), kind == *device_type, is_present));
        if !are_together(problems, field, types) {
            return None;
        }
        match device_type {
            MemberType::Name => {
                let name = checked::<NicName, InvalidNic>(problems, &format!("{field}.name"), name.as_deref())?;
                Some(NicDevice::Name { name })
            }
            MemberType::MacAddress => {
                let field = format!("{field}.macAddress");
                let mac_address = checked::<MacAddress, InvalidMac>(problems, &field, mac_address.as_deref())?;
                Some(NicDevice::MacAddress { mac_address })
            }
            MemberType::PciAddress => {
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
