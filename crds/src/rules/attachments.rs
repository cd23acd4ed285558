//! Rules on settings that are fixed for pods by name. Rules on the whole list compare all pairs:
//! the API server estimates their cost, so the length of the list is limited.

use super::rule;
use crate::mac::{MAC_PATTERN, NO_MAC};
use crate::names::{NAMESPACE_NAME_MAX, NAMESPACE_NAME_PATTERN, POD_NAME_MAX, POD_NAME_PATTERN};
use kube::core::Rule;

pub(crate) fn namespace() -> Rule {
    rule(
        format!("size(self) <= {NAMESPACE_NAME_MAX} && self.matches('{NAMESPACE_NAME_PATTERN}')"),
        format!("not a namespace: use 1 to {NAMESPACE_NAME_MAX} lower-case letters, digits and '-'"),
    )
}

pub(crate) fn pod() -> Rule {
    rule(
        format!("size(self) <= {POD_NAME_MAX} && self.matches('{POD_NAME_PATTERN}')"),
        format!("not the name of a pod: use 1 to {POD_NAME_MAX} lower-case letters, digits, '-' and '.'"),
    )
}

pub(crate) fn ips() -> Rule {
    rule("self.all(ip, isCIDR(ip))", "not an address with its prefix length: use CIDR notation, such as 10.56.217.5/24")
}

pub(crate) fn mac() -> Rule {
    rule(
        format!("self.matches('{MAC_PATTERN}') && self != '{NO_MAC}'"),
        "not the MAC address of an interface: write six pairs of hexadecimal digits with colons, the first pair even",
    )
}

/// For the list of all.
pub(crate) fn unique_macs() -> Rule {
    rule(
        "self.all(a, !has(a.mac) || self.filter(b, has(b.mac) && b.mac.lowerAscii() == a.mac.lowerAscii()).size() == 1)",
        "two attachments have the same mac: give each its own",
    )
}

/// On the whole list. Addresses are compared, not their text: 10.0.0.5/24 and 10.0.0.5/16 are one
/// address.
pub(crate) fn unique_ips() -> Rule {
    let same = "b.ips.filter(y, isCIDR(y) && cidr(y).ip() == cidr(x).ip())";
    let count = format!("self.map(b, has(b.ips) ? size({same}) : 0).sum()");
    rule(
        format!("self.all(a, !has(a.ips) || a.ips.all(x, !isCIDR(x) || {count} == 1))"),
        "an address is there twice in ips: give each attachment its own",
    )
}
