//! The underlay of an uplink: the addresses between which engines send encapsulated packets over
//! its NICs. What users write, its rules in CEL and in Rust, and the address of each node, which
//! follows from the number of the node.
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::cel::{range, rule};
use crate::problem::{Problem, Problems};
use crate::types::limits::CIDR_MAX;
use crate::{InterfaceAddress, IpFamily, VlanTag};
use ipnet::IpNet;
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The addresses of nodes on the NICs of an uplink.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
pub struct UplinkUnderlaySpec {
    /// The subnet of these addresses, of IPv4 or IPv6: the node with the number 0 (`spec.number` of
    /// its UserspaceNodeState) has the first address in it, the node with the number 1 the second
    /// one, and so on. Nothing else may have addresses of it. A change interrupts the traffic of
    /// the overlays that use it.
    #[schemars(length(max = CIDR_MAX))]
    #[x_kube(validation = subnet())]
    pub subnet: String,
    /// The VLAN of the encapsulated packets on the NICs, 1 to 4094, which no network can have then.
    /// Without it, the packets are untagged, and every network needs a VLAN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = vlan())]
    pub vlan: Option<i64>,
}

/// An underlay that breaks no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UplinkUnderlay {
    pub subnet: IpNet,
    /// The VLAN of the packets; none means untagged.
    pub vlan: Option<VlanTag>,
}

impl UplinkUnderlay {
    /// The address of the node with this number; none if the subnet has none for it.
    pub fn address(&self, number: u32) -> Option<IpAddr> {
        let address = match self.subnet.network() {
            IpAddr::V4(network) => IpAddr::V4(network.to_bits().checked_add(1)?.checked_add(number)?.into()),
            IpAddr::V6(network) => IpAddr::V6(network.to_bits().checked_add(1)?.checked_add(number.into())?.into()),
        };
        let interface = InterfaceAddress::new(address, self.subnet.prefix_len())?;
        (interface.subnet() == self.subnet && interface.is_host()).then_some(address)
    }

    /// The family of its addresses.
    pub fn family(&self) -> IpFamily {
        IpFamily::of(self.subnet.addr())
    }
}

fn subnet() -> Rule {
    rule(
        "isCIDR(self) && cidr(self).masked() == cidr(self)",
        "not a subnet: use CIDR notation without host bits, such as 192.168.50.0/24",
    )
}

fn vlan() -> Rule {
    range("VLAN tag", VlanTag::MINIMUM, VlanTag::MAXIMUM)
}

/// None if the spec is not valid.
pub(super) fn underlay(problems: &mut Problems, spec: &UplinkUnderlaySpec) -> Option<UplinkUnderlay> {
    let parsed = spec.subnet.parse::<IpNet>().ok().filter(|subnet| subnet.trunc() == *subnet);
    let subnet = problems.check("spec.underlay.subnet", parsed.ok_or_else(|| Problem::Subnet(spec.subnet.clone())));
    let vlan = match spec.vlan {
        Some(vlan) => Some(problems.check("spec.underlay.vlan", VlanTag::try_from(vlan))?),
        None => None,
    };
    Some(UplinkUnderlay { subnet: subnet?, vlan })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(subnet: &str, number: u32) -> Option<String> {
        let underlay = UplinkUnderlay { subnet: subnet.parse().unwrap(), vlan: None };
        underlay.address(number).map(|address| address.to_string())
    }

    #[test]
    fn the_address_of_a_node_follows_from_its_number_and_ends_with_the_subnet() {
        assert_eq!(address("192.168.50.0/24", 0).as_deref(), Some("192.168.50.1"));
        assert_eq!(address("192.168.50.0/24", 253).as_deref(), Some("192.168.50.254"));
        assert_eq!(address("192.168.50.0/24", 254), None, "the broadcast address");
        assert_eq!(address("192.168.50.0/24", 255), None);
        assert_eq!(address("10.0.0.0/15", 65_535).as_deref(), Some("10.1.0.0"));
        assert_eq!(address("255.255.255.0/24", u32::MAX), None);
        assert_eq!(address("10.0.0.7/32", 0), None);
        assert_eq!(address("fd00:50::/64", 65_535).as_deref(), Some("fd00:50::1:0"));
        assert_eq!(address("fd00:50::/127", 0).as_deref(), Some("fd00:50::1"));
        assert_eq!(address("fd00:50::/127", 1), None);
    }
}
