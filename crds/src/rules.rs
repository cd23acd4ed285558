//! The validation rules of `UserspaceNetwork` in CEL, which the API server evaluates. `validate`
//! has the same rules in Rust; both take their limits from `limits` and `names`, and one table of
//! cases tests both.

pub(crate) mod attachments;
pub(crate) mod engines;
pub(crate) mod vlan;

use crate::device::DEVICE_NETWORK_NAME_MAX;
use crate::names::{BRIDGE_NAME_MAX, BRIDGE_NAME_PATTERN, NETWORK_NAME_MAX, RESERVED_BRIDGE_NAMES};
use crate::{BridgeDomainId, DeviceCount, KilobitsPerSecond, Mtu, Queues, RingSize};
use kube::core::{Message, Rule};
use std::fmt::Display;

fn rule(expression: impl Into<String>, message: impl Into<String>) -> Rule {
    Rule::new(expression).message(Message::Message(message.into()))
}

fn range(what: &str, minimum: impl Display, maximum: impl Display) -> Rule {
    rule(
        format!("self >= {minimum} && self <= {maximum}"),
        format!("{what} is out of range: use {minimum} to {maximum}"),
    )
}

/// The API server allows dots in names of custom resources; it validates the rest of a DNS label.
pub(crate) fn network_name() -> Rule {
    rule(
        format!("!self.metadata.name.contains('.') && size(self.metadata.name) <= {NETWORK_NAME_MAX}"),
        format!("metadata.name is not a DNS label: use at most {NETWORK_NAME_MAX} lower-case letters, digits and '-'"),
    )
}

/// The ports of running pods cannot move from one engine to another.
pub(crate) fn engine_immutable() -> Rule {
    rule("self == oldSelf", "engine cannot change: make a new network and move the pods to it")
}

/// A managed bridge would become an adopted one, or vice versa.
pub(crate) fn ownership_immutable() -> Rule {
    rule("self == oldSelf", "bridge.ownership cannot change: make a new network and move the pods to it")
}

/// `field` of `object` is immutable, also when it is unset.
pub(crate) fn immutable(object: &str, field: &str) -> Rule {
    rule(
        format!("has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"),
        format!("{object}.{field} cannot be changed, added or removed: make a new network and move the pods to it"),
    )
}

pub(crate) fn bridge_name() -> Rule {
    rule(
        format!("size(self) <= {BRIDGE_NAME_MAX} && self.matches('{BRIDGE_NAME_PATTERN}')"),
        format!("use 1 to {BRIDGE_NAME_MAX} letters, digits, '_', '.' and '-', starting with a letter, a digit or '_'"),
    )
}

pub(crate) fn bridge_name_not_reserved() -> Rule {
    let names = RESERVED_BRIDGE_NAMES.map(|name| format!("'{name}'")).join(", ");
    rule(format!("!(self in [{names}])"), "the name is reserved by Open vSwitch or Linux: choose another")
}

pub(crate) fn mtu() -> Rule {
    range("MTU", Mtu::MINIMUM, Mtu::MAXIMUM)
}

pub(crate) fn queues() -> Rule {
    range("number of queues", Queues::MINIMUM, Queues::MAXIMUM)
}

pub(crate) fn devices() -> Rule {
    range("number of devices", DeviceCount::MINIMUM, DeviceCount::MAXIMUM)
}

/// kubelet's ids of devices begin with the name.
pub(crate) fn device_network_name() -> Rule {
    rule(
        format!("!has(self.spec.devicePlugin) || size(self.metadata.name) <= {DEVICE_NETWORK_NAME_MAX}"),
        format!(
            "metadata.name is too long for devicePlugin, whose devices have it in their ids: use at most {DEVICE_NETWORK_NAME_MAX} characters"
        ),
    )
}

pub(crate) fn bridge_domain_id() -> Rule {
    range("bridge domain id", BridgeDomainId::MINIMUM, BridgeDomainId::MAXIMUM)
}

/// CEL has no operators for bits; there are few enough powers of two to name them all.
pub(crate) fn ring_size() -> Rule {
    let sizes: Vec<String> = RingSize::all().map(|size| i64::from(size).to_string()).collect();
    let (minimum, maximum) = (RingSize::MINIMUM, RingSize::MAXIMUM);
    rule(
        format!("self in [{}]", sizes.join(", ")),
        format!("not a ring size: use a power of two from {minimum} to {maximum}"),
    )
}

/// 0 means no limit.
pub(crate) fn rate() -> Rule {
    range("rate", 0, KilobitsPerSecond::MAXIMUM)
}

pub(crate) fn selector() -> Rule {
    rule(
        "!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && size(e.values) > 0))",
        "matchExpressions: In and NotIn need values; Exists and DoesNotExist take none",
    )
}

pub(crate) fn ipam_type() -> Rule {
    rule(
        format!("self.matches('{}')", crate::ipam::PLUGIN_PATTERN),
        "use the file name of an IPAM plugin, such as host-local: letters, digits, '.', '_' and '-'",
    )
}

pub(crate) fn subnet() -> Rule {
    rule(
        "isCIDR(self) && cidr(self).masked() == cidr(self)",
        "not a subnet: use CIDR notation without host bits, such as 10.56.217.0/24",
    )
}

pub(crate) fn cidr() -> Rule {
    rule("isCIDR(self)", "not an address with its prefix length: use CIDR notation, such as 10.56.217.5/24")
}

pub(crate) fn ip() -> Rule {
    rule("isIP(self)", "not an IP address")
}

/// `field` (an address) must be in the sibling `subnet`. Other rules reject invalid addresses and
/// subnets.
pub(crate) fn in_subnet(field: &str) -> Rule {
    let parsed = format!("!has(self.subnet) || !isCIDR(self.subnet) || !has(self.{field}) || !isIP(self.{field})");
    rule(format!("{parsed} || cidr(self.subnet).containsIP(self.{field})"), format!("{field} is outside of subnet"))
        .field_path(format!(".{field}"))
}
