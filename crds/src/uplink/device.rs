//! What an uplink has on a node, a NIC or a bond: what users write ([`DeviceSpec`]), its rules in
//! CEL and in Rust, and what nodes read ([`UplinkDevice`]).

use super::bond::NicBond;
use super::member::NicDevice;
use serde::{Deserialize, Serialize};

#[cfg(feature = "api")]
pub(super) use spec::device;
#[cfg(feature = "api")]
pub use spec::{DeviceSpec, DeviceType};

/// What an uplink has on a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UplinkDevice {
    Nic(NicDevice),
    Bond { bond: NicBond },
}

impl UplinkDevice {
    /// The NIC, or the members of the bond.
    pub fn nics(&self) -> &[NicDevice] {
        match self {
            Self::Nic(nic) => std::slice::from_ref(nic),
            Self::Bond { bond } => &bond.members,
        }
    }

    pub const fn bond(&self) -> Option<&NicBond> {
        match self {
            Self::Nic(_) => None,
            Self::Bond { bond } => Some(bond),
        }
    }
}

#[cfg(feature = "api")]
mod spec {
    #![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

    use super::UplinkDevice;
    use crate::problem::Problems;
    use crate::types::mac::NO_MAC;
    use crate::types::nic::{NIC_NAME_MAX, PCI_ADDRESS_LENGTH};
    use crate::uplink::bond::{BondSpec, bond};
    use crate::uplink::member::{
        MemberSpec, MemberType, are_together, belongs, mac_address, nic_device, nic_name, pci_address,
    };
    use kube::KubeSchema;
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    /// How a NIC is identified, or that it is a bond.
    #[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum DeviceType {
        #[default]
        Name,
        MacAddress,
        PciAddress,
        Bond,
    }

    impl DeviceType {
        pub const ALL: [Self; 4] = [Self::Name, Self::MacAddress, Self::PciAddress, Self::Bond];

        /// How a single NIC is identified; none for a bond.
        pub const fn of_nic(self) -> Option<MemberType> {
            match self {
                Self::Name => Some(MemberType::Name),
                Self::MacAddress => Some(MemberType::MacAddress),
                Self::PciAddress => Some(MemberType::PciAddress),
                Self::Bond => None,
            }
        }

        /// The value in the API, and the member of the union that belongs to it.
        pub const fn names(self) -> (&'static str, &'static str) {
            match self.of_nic() {
                Some(nic) => nic.names(),
                None => ("Bond", "bond"),
            }
        }
    }

    /// A NIC, as users identify it, or a bond of several.
    #[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
    #[serde(rename_all = "camelCase")]
    #[x_kube(
        validation = belongs(DeviceType::Name.names()),
        validation = belongs(DeviceType::MacAddress.names()),
        validation = belongs(DeviceType::PciAddress.names()),
        validation = belongs(DeviceType::Bond.names())
    )]
    pub struct DeviceSpec {
        /// How the NIC is identified: Name, MacAddress or PciAddress, with the member of that name;
        /// or Bond, which is several NICs in one, only with OVS.
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
        /// The NICs of a bond of the engine; only with the type Bond.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub bond: Option<BondSpec>,
    }

    /// The NIC or the bond, if it breaks no rule.
    pub(crate) fn device(problems: &mut Problems, field: &str, spec: &DeviceSpec) -> Option<UplinkDevice> {
        let DeviceSpec { device_type, name, mac_address, pci_address, bond: members } = spec.clone();
        let present = [name.is_some(), mac_address.is_some(), pci_address.is_some(), members.is_some()];
        let types = DeviceType::ALL.into_iter().zip(present);
        let types = types.map(|(kind, is_present)| (kind.names(), kind == device_type, is_present));
        if !are_together(problems, field, types) {
            return None;
        }
        match (device_type.of_nic(), members) {
            (Some(device_type), _) => {
                let nic = MemberSpec { device_type, name, mac_address, pci_address };
                nic_device(problems, field, &nic).map(UplinkDevice::Nic)
            }
            (None, members) => {
                let bond = bond(problems, &format!("{field}.bond"), &members?)?;
                Some(UplinkDevice::Bond { bond })
            }
        }
    }
}
