//! The device of an uplink on a node: what users write, and its rules in CEL and in Rust.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use super::problem::UplinkProblem;
use super::{BondMode, NicDevice};
use crate::cel::rule;
use crate::problem::{Problem, Problems};
use crate::types::mac::{MAC_PATTERN, NO_MAC};
use crate::types::nic::{NIC_NAME_MAX, NIC_NAME_PATTERN, PCI_ADDRESS_LENGTH, PCI_ADDRESS_PATTERN};
use crate::{InvalidMac, InvalidNic, MacAddress, NicName, PciAddress};
use kube::KubeSchema;
use kube::core::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most members of a bond.
const BOND_MEMBERS_MAX: usize = 8;

/// How a NIC is identified.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceType {
    /// By its name in Linux.
    #[default]
    Name,
    /// By its MAC address.
    MacAddress,
    /// By its PCI address.
    PciAddress,
    /// Several NICs as one.
    Bond,
}

impl DeviceType {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Name, Self::MacAddress, Self::PciAddress, Self::Bond];

    /// The value in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Name => "Name",
            Self::MacAddress => "MacAddress",
            Self::PciAddress => "PciAddress",
            Self::Bond => "Bond",
        }
    }

    /// The member of the union that it has.
    pub const fn member(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::MacAddress => "macAddress",
            Self::PciAddress => "pciAddress",
            Self::Bond => "bond",
        }
    }
}

/// A NIC, or several as one.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = member(DeviceType::Name),
    validation = member(DeviceType::MacAddress),
    validation = member(DeviceType::PciAddress),
    validation = member(DeviceType::Bond),
    validation = no_bond_yet()
)]
pub struct DeviceSpec {
    /// How the NIC is identified: Name, MacAddress or PciAddress, with the member of that name.
    /// Bond: not supported yet.
    #[serde(rename = "type")]
    pub device_type: DeviceType,
    /// Only with the type Name: its name in Linux, such as eth1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NIC_NAME_MAX))]
    #[x_kube(validation = nic_name())]
    pub name: Option<String>,
    /// Only with the type MacAddress: the address of the NIC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = NO_MAC.len()))]
    #[x_kube(validation = mac_address())]
    pub mac_address: Option<String>,
    /// Only with the type PciAddress: with its domain, such as 0000:3b:00.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = PCI_ADDRESS_LENGTH))]
    #[x_kube(validation = pci_address())]
    pub pci_address: Option<String>,
    /// Only with the type Bond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bond: Option<BondSpec>,
}

/// NICs that the engine uses as one.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct BondSpec {
    /// Their names in Linux.
    #[schemars(length(min = 2, max = BOND_MEMBERS_MAX), inner(length(max = NIC_NAME_MAX)))]
    pub members: Vec<String>,
    /// ActiveBackup: one of those whose link is up carries frames.
    #[serde(default)]
    pub mode: BondMode,
}

const fn member_problem(device: DeviceType) -> UplinkProblem {
    UplinkProblem::Member { device_type: device.as_str(), member: device.member() }
}

fn member(device: DeviceType) -> Rule {
    let (value, member) = (device.as_str(), device.member());
    rule(format!("(self.type == '{value}') == has(self.{member})"), member_problem(device).to_string())
}

fn no_bond_yet() -> Rule {
    rule("self.type != 'Bond'", UplinkProblem::Bond.to_string()).field_path(".type")
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
pub(super) fn device(problems: &mut Problems, field: &str, spec: &DeviceSpec) -> Option<NicDevice> {
    let DeviceSpec { device_type, name, mac_address, pci_address, bond } = spec;
    let present = |device: DeviceType| match device {
        DeviceType::Name => name.is_some(),
        DeviceType::MacAddress => mac_address.is_some(),
        DeviceType::PciAddress => pci_address.is_some(),
        DeviceType::Bond => bond.is_some(),
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
        DeviceType::Bond => {
            problems.add(format!("{field}.type"), UplinkProblem::Bond.into());
            None
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
