//! Validated newtypes of names: each is checked once, on input.

mod generated;
mod hash;

use super::limits::{DEVICE_NETWORK_NAME_MAX, RANGE_PODS_MAX};
pub use hash::fnv1a;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest name of a network, in bytes: it is also the name of its NetworkAttachmentDefinition and
/// of files, so it is a DNS label.
pub const NETWORK_NAME_MAX: usize = 63;
/// Longest name of an Open vSwitch bridge, in bytes: it names a network device too, and Open
/// vSwitch silently truncates longer ones.
pub const BRIDGE_NAME_MAX: usize = 15;
/// Pattern of bridge names, shared by Rust code and the CRD. Open vSwitch never creates a bridge
/// with `/` in its name, and creates no local port for one with a space or `:`.
pub const BRIDGE_NAME_PATTERN: &str = "^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$";
/// Names that Open vSwitch or Linux reserve.
pub const RESERVED_BRIDGE_NAMES: [&str; 4] = ["all", "default", "lo", "ovs-netdev"];

/// What the names of the bridges of uplinks begin with. No network has such a bridge.
pub const UPLINK_BRIDGE_PREFIX: &str = "br-up-";

/// Longest name of a network with VPP, in bytes: the tag of a bridge domain has 63 bytes, and our
/// prefix precedes the name.
pub const VPP_NETWORK_NAME_MAX: usize = 57;

/// Longest name of an uplink, in bytes: tags of VPP have 63 bytes, our prefix included.
pub const UPLINK_NAME_MAX: usize = 48;

/// Longest name of a routing domain, in bytes: the name of a table of VPP has 63 bytes, and our
/// prefix precedes it.
pub const ROUTING_DOMAIN_MAX: usize = 57;

/// Longest name of a pod's volume, in bytes: a DNS label (RFC 1123).
pub const VOLUME_NAME_MAX: usize = 63;
/// The volume in which pods find sockets, unless their network names another.
pub const DEFAULT_VOLUME: &str = "usnet";

/// Longest name of a namespace, in bytes: a DNS label (RFC 1123).
pub const NAMESPACE_NAME_MAX: usize = 63;
/// Longest name of a pod, in bytes: a DNS subdomain (RFC 1123).
pub const POD_NAME_MAX: usize = 253;
/// Pattern of names of namespaces, for the CRD.
pub const NAMESPACE_NAME_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
/// Pattern of names of pods, for the CRD.
pub const POD_NAME_PATTERN: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// Pattern of the name of an IPAM plugin: a file name in the CNI plugin directory, never a path.
pub const PLUGIN_PATTERN: &str = "^[a-zA-Z0-9][a-zA-Z0-9._-]*$";
/// Longest name of an IPAM plugin, in bytes.
pub const PLUGIN_NAME_MAX: usize = 63;

/// Why a name was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    #[error(
        "network name {0:?} is not a DNS label: use 1 to {NETWORK_NAME_MAX} lower-case letters, digits and '-', starting and ending with a letter or digit"
    )]
    Network(String),
    /// The name of a bridge has characters or a length that Open vSwitch mishandles.
    #[error(
        "bridge name {0:?} cannot be used: use 1 to {BRIDGE_NAME_MAX} letters, digits, '_', '.' and '-', starting with a letter, a digit or '_'"
    )]
    Bridge(String),
    #[error("network name {name:?} is {why}")]
    EngineNetwork {
        name: String,
        /// For which engine the name is too long, and its limit.
        why: String,
    },
    #[error(
        "network name {0:?} is too long for devicePlugin and resourceClaims, whose devices have it in their ids: use at most {DEVICE_NETWORK_NAME_MAX} characters"
    )]
    DeviceNetwork(String),
    #[error(
        "namespace {0:?} is not a DNS label: use 1 to {NAMESPACE_NAME_MAX} lower-case letters, digits and '-', starting and ending with a letter or digit"
    )]
    Namespace(String),
    #[error(
        "pod name {0:?} is not a DNS subdomain: use 1 to {POD_NAME_MAX} lower-case letters, digits, '-' and '.', each part starting and ending with a letter or digit"
    )]
    Pod(String),
    #[error(
        "{0:?} is no range of the pods of a StatefulSet: write its name, '-' and the ordinals, such as db-{{0..99}}, from low to high, up to 9999, and at most {RANGE_PODS_MAX} pods"
    )]
    PodRange(String),
    #[error(
        "uplink name {0:?} is not a DNS label: use 1 to {UPLINK_NAME_MAX} lower-case letters, digits and '-', starting and ending with a letter or digit"
    )]
    Uplink(String),
    #[error(
        "routing domain {0:?} is not a DNS label: use 1 to {ROUTING_DOMAIN_MAX} lower-case letters, digits and '-', starting and ending with a letter or digit"
    )]
    RoutingDomain(String),
    #[error(
        "volume name {0:?} is not a DNS label: use 1 to {VOLUME_NAME_MAX} lower-case letters, digits and '-', starting and ending with a letter or digit"
    )]
    Volume(String),
    #[error(
        "bridge name {0:?} is reserved, because the bridges of uplinks begin with {UPLINK_BRIDGE_PREFIX}: choose another"
    )]
    BridgeOfUplink(String),
    #[error("bridge name {0:?} is reserved by Open vSwitch or Linux: choose another")]
    ReservedBridge(String),
}

/// The name of a `UserspaceNetwork`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NetworkName(String);

/// The name of a bridge in an engine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BridgeName(String);

/// The name of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NamespaceName(String);

/// The name of a `UserspaceUplink`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct UplinkName(String);

/// The name of a routing domain: the networks that reach each other by their gateways.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoutingDomain(String);

/// The name of a volume of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VolumeName(String);

/// The name of a pod.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PodName(String);

impl BridgeName {
    /// The default bridge of a network: `br-` and its name, truncated with a hash of the whole name
    /// where it is too long; only a hash where it could be that of an uplink.
    pub fn default_for(network: &NetworkName) -> Self {
        let whole = format!("br-{network}");
        if whole.starts_with(UPLINK_BRIDGE_PREFIX) {
            return Self(format!("br-{:012x}", fnv1a(network.as_str().as_bytes()) & 0xffff_ffff_ffff));
        }
        if whole.len() <= BRIDGE_NAME_MAX {
            return Self(whole);
        }
        let start: String = network.as_str().chars().take(5).collect();
        Self(format!("br-{start}-{:06x}", fnv1a(network.as_str().as_bytes()) & 0xff_ffff))
    }

    /// The bridge of an uplink with Open vSwitch: `br-up-` and its name, or a hash of the name
    /// where that is too long.
    pub fn of_uplink(uplink: &UplinkName) -> Self {
        let whole = format!("{UPLINK_BRIDGE_PREFIX}{uplink}");
        if whole.len() <= BRIDGE_NAME_MAX {
            return Self(whole);
        }
        Self(format!("{UPLINK_BRIDGE_PREFIX}{:09x}", fnv1a(uplink.as_str().as_bytes()) & 0xf_ffff_ffff))
    }

    /// The name of a bridge domain of VPP: the digits of its id.
    pub(super) fn of_id(id: u32) -> Self {
        Self(id.to_string())
    }
}

/// One part of a DNS name, of any length.
fn is_dns_part(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(inner) && !name.starts_with('-') && !name.ends_with('-')
}

fn is_dns_label(name: &str, longest: usize) -> bool {
    name.len() <= longest && is_dns_part(name)
}

fn is_bridge_name(name: &str) -> bool {
    let first = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=BRIDGE_NAME_MAX).contains(&name.len())
        && name.bytes().next().is_some_and(first)
        && name.bytes().all(|byte| first(byte) || byte == b'.' || byte == b'-')
}

impl TryFrom<String> for NetworkName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        if is_dns_label(&name, NETWORK_NAME_MAX) { Ok(Self(name)) } else { Err(InvalidName::Network(name)) }
    }
}

impl TryFrom<String> for UplinkName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        if is_dns_label(&name, UPLINK_NAME_MAX) { Ok(Self(name)) } else { Err(InvalidName::Uplink(name)) }
    }
}

impl TryFrom<String> for NamespaceName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        if is_dns_label(&name, NAMESPACE_NAME_MAX) { Ok(Self(name)) } else { Err(InvalidName::Namespace(name)) }
    }
}

impl TryFrom<String> for RoutingDomain {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        if is_dns_label(&name, ROUTING_DOMAIN_MAX) { Ok(Self(name)) } else { Err(InvalidName::RoutingDomain(name)) }
    }
}

impl TryFrom<String> for VolumeName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        if is_dns_label(&name, VOLUME_NAME_MAX) { Ok(Self(name)) } else { Err(InvalidName::Volume(name)) }
    }
}

impl TryFrom<String> for PodName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        let is_subdomain = name.len() <= POD_NAME_MAX && name.split('.').all(is_dns_part);
        if is_subdomain { Ok(Self(name)) } else { Err(InvalidName::Pod(name)) }
    }
}

impl TryFrom<String> for BridgeName {
    type Error = InvalidName;
    fn try_from(name: String) -> Result<Self, InvalidName> {
        if !is_bridge_name(&name) {
            return Err(InvalidName::Bridge(name));
        }
        if RESERVED_BRIDGE_NAMES.contains(&name.as_str()) {
            return Err(InvalidName::ReservedBridge(name));
        }
        Ok(Self(name))
    }
}

macro_rules! text_conversions {
    ($($name:ty),*) => {$(
        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl std::str::FromStr for $name {
            type Err = InvalidName;
            fn from_str(name: &str) -> Result<Self, InvalidName> {
                Self::try_from(name.to_owned())
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    )*};
}
text_conversions!(NetworkName, BridgeName, NamespaceName, PodName, RoutingDomain, UplinkName, VolumeName);

#[cfg(test)]
mod tests {
    use super::*;

    /// The name becomes a part of a path.
    #[test]
    fn volume_names_are_dns_labels() {
        for good in ["usnet", "hook-sidecar-sockets", &"a".repeat(63)] {
            assert!(good.parse::<VolumeName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "Blue", "a.b", "..", "a/b", &"a".repeat(64)] {
            assert_eq!(bad.parse::<VolumeName>(), Err(InvalidName::Volume(bad.to_owned())));
        }
    }

    #[test]
    fn network_names_are_dns_labels() {
        for good in ["a", "blue", "blue-2", &"a".repeat(63)] {
            assert!(good.parse::<NetworkName>().is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "Blue", "a.b", "a/b", &"a".repeat(64)] {
            assert!(bad.parse::<NetworkName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_bridge_of_an_uplink_has_its_name_or_a_hash_of_it() {
        let bridge = |uplink: &str| BridgeName::of_uplink(&uplink.parse().unwrap());
        assert_eq!(bridge("fab").as_str(), "br-up-fab");
        let (one, other) = (bridge("rack-a-fabric"), bridge("rack-b-fabric"));
        assert_ne!(one, other);
        assert!([one, other].into_iter().all(|name| BridgeName::try_from(name.to_string()).is_ok()));
    }

    #[test]
    fn the_bridge_of_a_network_is_never_that_of_an_uplink() {
        for name in ["up-plain", "up-plain-and-long-enough", "up-0"] {
            let bridge = BridgeName::default_for(&name.parse().unwrap()).to_string();
            assert!(!bridge.starts_with("br-up-") && bridge.parse::<BridgeName>().is_ok(), "{bridge}");
        }
        let bridge = |network: &str| BridgeName::default_for(&network.parse().unwrap());
        assert_ne!(bridge("up-plain"), bridge("up-other"));
        assert_eq!(bridge("upper").as_str(), "br-upper");
    }

    #[test]
    fn names_of_uplinks_are_short_dns_labels() {
        assert!(["fab", "rack-1", &"a".repeat(48)].iter().all(|name| name.parse::<UplinkName>().is_ok()));
        assert!(["", "-a", "Fab", "a.b", &"a".repeat(49)].iter().all(|name| name.parse::<UplinkName>().is_err()));
    }

    #[test]
    fn pod_names_have_parts_and_namespaces_have_one() {
        for good in ["db", "mysql-0", "0", &"a".repeat(63)] {
            assert!(good.parse::<PodName>().is_ok() && good.parse::<NamespaceName>().is_ok(), "{good}");
        }
        let long = "a".repeat(253);
        assert!("a.b-c.0".parse::<PodName>().is_ok() && "a.b".parse::<NamespaceName>().is_err());
        assert!(long.parse::<PodName>().is_ok() && format!("{long}a").parse::<PodName>().is_err());
        for bad in ["", "a..b", ".a", "a.", "A", "a_b", "-a", "a.-b"] {
            assert!(bad.parse::<PodName>().is_err() && bad.parse::<NamespaceName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn bridge_names_are_those_that_open_vswitch_handles() {
        for good in ["br0", "br-blue", "_x", "a.b", &"b".repeat(15)] {
            assert!(good.parse::<BridgeName>().is_ok(), "{good}");
        }
        for bad in ["", "b/r", "-br", "b r", "b:r", "brü", ".", "..", "%d", "all", "ovs-netdev", &"b".repeat(16)] {
            assert!(bad.parse::<BridgeName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_default_bridge_name_fits_and_tells_long_networks_apart() {
        let bridge = |network: &str| BridgeName::default_for(&network.parse().unwrap()).to_string();
        assert_eq!(bridge("blue"), "br-blue");
        assert_eq!(bridge("exactlytwelv"), "br-exactlytwelv");
        let (one, other) = (bridge("a-rather-long-name-1"), bridge("a-rather-long-name-2"));
        assert_ne!(one, other);
        assert!(one.parse::<BridgeName>().is_ok() && one.len() == BRIDGE_NAME_MAX, "{one}");
    }
}
