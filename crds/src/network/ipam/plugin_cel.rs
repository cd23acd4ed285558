//! The rules of host-local and static themselves in CEL, as far as it can compare addresses.

use super::node_prefix::HOST_LOCAL;
use super::problem::IpamProblem;
use crate::cel::at;
use crate::problem::Problem;
use kube::core::Rule;

/// The plugin that assigns the addresses of its configuration.
pub(crate) const STATIC: &str = "static";
/// The longest prefixes of subnets that host-local takes: without them it has no address to give.
const PREFIX_MAX: [(u8, u8); 2] = [(4, 30), (6, 126)];

/// A rule that applies to host-local.
fn host_local_rule(expression: &str, problem: &Problem) -> Rule {
    at(".ranges", format!("self.type != '{HOST_LOCAL}' || {expression}"), problem)
}

pub(super) fn has_range() -> Rule {
    let has_some = "has(self.nodePrefix) || has(self.subnet) || (has(self.ranges) && size(self.ranges) > 0)";
    host_local_rule(has_some, &IpamProblem::NoRange.into())
}

pub(super) fn no_empty_set() -> Rule {
    host_local_rule("!has(self.ranges) || self.ranges.all(set, size(set) > 0)", &IpamProblem::EmptyRangeSet.into())
}

pub(super) fn one_family() -> Rule {
    let is_valid = |range: &str| format!("isCIDR({range}.subnet)");
    let family = |range: &str| format!("cidr({range}.subnet).ip().family()");
    let (range, first) = ("r", "set[0]");
    let same = format!("{} == {}", family(range), family(first));
    let all = format!(
        "!has(self.ranges) || self.ranges.all(set, set.all(r, !{} || !{} || {same}))",
        is_valid(range),
        is_valid(first)
    );
    host_local_rule(&all, &IpamProblem::MixedRangeSet.into())
}

pub(super) fn large_enough() -> Rule {
    let fits = |subnet: &str| {
        let of_family = PREFIX_MAX.map(|(family, maximum)| {
            format!("(cidr({subnet}).ip().family() == {family} && cidr({subnet}).prefixLength() <= {maximum})")
        });
        format!("(!isCIDR({subnet}) || {})", of_family.join(" || "))
    };
    let only = format!("(!has(self.subnet) || {})", fits("self.subnet"));
    let all = format!("(!has(self.ranges) || self.ranges.all(set, set.all(r, {})))", fits("r.subnet"));
    let expression = format!("self.type != '{HOST_LOCAL}' || ({only} && {all})");
    let message = "a subnet is too small: host-local has addresses to give in prefixes up to /30, or /126 of IPv6";
    crate::cel::rule(expression, message).field_path(".ranges")
}

/// A rule of the whole spec.
pub(in crate::network) fn static_addresses() -> Rule {
    let has_some = format!(
        "!has(self.ipam) || self.ipam.type != '{STATIC}' || (has(self.ipam.addresses) && size(self.ipam.addresses) > 0) || (has(self.attachments) && self.attachments.exists(a, has(a.ips) && size(a.ips) > 0))"
    );
    at(".ipam.addresses", has_some, &IpamProblem::NoStaticAddress.into())
}

/// The gateway beside `subnet` must be in it, or a link-local address (IPv6): a pod reaches no
/// other.
pub(super) fn reachable_gateway() -> Rule {
    let is_unset = "!has(self.subnet) || !isCIDR(self.subnet) || !has(self.gateway) || !isIP(self.gateway)";
    let of_link = "(ip(self.gateway).family() == 6 && ip(self.gateway).isLinkLocalUnicast())";
    let expression = format!("{is_unset} || cidr(self.subnet).containsIP(self.gateway) || {of_link}");
    crate::cel::rule(expression, "gateway is outside of subnet").field_path(".gateway")
}
