//! How the ranges of host-local are divided among the nodes: what users write, its rules in CEL,
//! and the validated form. What a node gets is in
//! [`node_ranges`](crate::compiled_network::node_ranges).
#![expect(unreachable_pub, reason = "KubeSchema repeats each struct inside of a function")]

use crate::cel::{at, range, rule};
use crate::problem::Problem;
use crate::types::number::number;
use ipnet::IpNet;
use kube::KubeSchema;
use kube::core::Rule;
use serde::{Deserialize, Serialize};

/// The only plugin that can be divided: others assign addresses for the whole cluster, or none.
pub const HOST_LOCAL: &str = "host-local";

number!(
    /// The prefix length of the part of a node. A part has 4 addresses at the least: the first node
    /// cannot use two or three of them.
    PrefixV4, "prefix length", 1, 30
);
number!(
    /// The prefix length of the part of a node of IPv6 ranges.
    PrefixV6, "prefix length", 1, 126
);

/// How the ranges are divided among the nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NodePrefix {
    /// The prefix length of the part of each node of IPv4 ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<PrefixV4>,
    /// The prefix length of the part of each node of IPv6 ranges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<PrefixV6>,
}

impl NodePrefix {
    /// The prefix length for the family of a subnet.
    pub fn of(&self, subnet: &IpNet) -> Option<u8> {
        let bits = match subnet {
            IpNet::V4(_) => self.ipv4.map(PrefixV4::get),
            IpNet::V6(_) => self.ipv6.map(PrefixV6::get),
        };
        bits.and_then(|bits| u8::try_from(bits).ok())
    }
}

/// How the ranges are divided among the nodes: the prefix lengths of the parts. The node with the
/// number 0 has the first part, and so on; kubectl get usns -o yaml shows the numbers. The mask of
/// a port stays that of the range's subnet. A change applies to pods that attach afterwards, and
/// parts of before and after may overlap until the others are gone.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePrefixSpec {
    /// For IPv4 ranges: 1 to 30, no shorter than the prefix of their subnets. 24 is 256 addresses
    /// for each node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = range("prefix length", PrefixV4::MINIMUM, PrefixV4::MAXIMUM))]
    pub ipv4: Option<i64>,
    /// For IPv6 ranges: 1 to 126, no shorter than the prefix of their subnets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = range("prefix length", PrefixV6::MINIMUM, PrefixV6::MAXIMUM))]
    pub ipv6: Option<i64>,
}

/// A family of addresses.
#[derive(Debug, Clone, Copy)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::V4 => 4,
            Self::V6 => 6,
        }
    }

    pub(super) const fn of(subnet: &IpNet) -> Self {
        match subnet {
            IpNet::V4(_) => Self::V4,
            IpNet::V6(_) => Self::V6,
        }
    }
}

pub(super) fn only_host_local() -> Rule {
    let is_it = format!("!has(self.nodePrefix) || self.type == '{HOST_LOCAL}'");
    at(".nodePrefix", is_it, &Problem::NodePrefixPlugin)
}

pub(super) fn has_range() -> Rule {
    let has_some = format!(
        "!has(self.nodePrefix) || self.type != '{HOST_LOCAL}' || has(self.subnet) || (has(self.ranges) && self.ranges.exists(set, size(set) > 0))"
    );
    at(".nodePrefix", has_some, &Problem::NodePrefixWithoutRange)
}

/// Each range of this family has a prefix, which is no shorter than its own. Other rules reject
/// invalid subnets.
pub(super) fn fits(family: Family) -> Rule {
    let number = family.number();
    let of_range = |subnet: &str| {
        let is_other = format!("!isCIDR({subnet}) || cidr({subnet}).ip().family() != {number}");
        let prefix = format!("self.nodePrefix.ipv{number}");
        format!("({is_other} || (has({prefix}) && {prefix} >= cidr({subnet}).prefixLength()))")
    };
    let only = format!("(!has(self.subnet) || {})", of_range("self.subnet"));
    let all = format!("(!has(self.ranges) || self.ranges.all(set, set.all(r, {})))", of_range("r.subnet"));
    rule(
        format!("!has(self.nodePrefix) || ({only} && {all})"),
        format!("ranges of IPv{number} need nodePrefix.ipv{number}, no shorter than the prefixes of their subnets"),
    )
    .field_path(".nodePrefix")
}
