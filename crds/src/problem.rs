//! Validation errors of a spec. The CEL rules have the same messages.

use crate::types::limits::{IPAM_MAX, MAC_AGE_OVS, MAC_AGE_VPP};
use crate::{
    InvalidAddress, InvalidBridgeDomainId, InvalidMac, InvalidName, InvalidRate, InvalidRingSize, MacAddress,
    NamespaceName, OutOfRange, PodName, VlanTag,
};
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;

/// All that is wrong with a spec; at least one problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct InvalidSpec {
    /// What is wrong, in the order of the fields.
    pub problems: Vec<InvalidField>,
}

impl fmt::Display for InvalidSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        formatter.write_str(&texts.join("; "))
    }
}

/// A field that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct InvalidField {
    /// Where, as `spec.bridge.mtu`.
    pub field: String,
    /// What is wrong and what to do.
    pub problem: Problem,
}

/// What is wrong with a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A name.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A number.
    #[error(transparent)]
    Number(#[from] OutOfRange),
    /// The id of a bridge domain.
    #[error(transparent)]
    BridgeDomainId(#[from] InvalidBridgeDomainId),
    /// The size of a ring.
    #[error(transparent)]
    RingSize(#[from] InvalidRingSize),
    /// A rate.
    #[error(transparent)]
    Rate(#[from] InvalidRate),
    /// A MAC address.
    #[error(transparent)]
    Mac(#[from] InvalidMac),
    /// An IPAM configuration that is too long for every node.
    #[error("the IPAM configuration has {0} bytes of JSON, and {max} is the limit", max = IPAM_MAX)]
    IpamTooLong(usize),
    /// Only users know which Open vSwitch bridge to adopt.
    #[error("a bridge that somebody else made has to be named: set bridge.name, or ownership Managed")]
    AdoptedWithoutName,
    /// Only users know which bridge domain to adopt.
    #[error("a bridge domain that somebody else made has to be named: set bridge.id, or ownership Managed")]
    AdoptedWithoutId,
    /// A mode that needs a VLAN of its own.
    #[error("the modes Access, NativeTagged and NativeUntagged need a tag")]
    TagMissing,
    /// A trunk has no VLAN of its own.
    #[error("the mode Trunk has no tag: remove it, or use the mode NativeTagged or NativeUntagged")]
    TagOfTrunk,
    /// A mode that needs VLANs.
    #[error("the modes Trunk, NativeTagged and NativeUntagged need at least one VLAN in trunks")]
    TrunksMissing,
    /// An access port is in one VLAN.
    #[error("the mode Access has no trunks: remove them, or use the mode NativeTagged or NativeUntagged")]
    TrunksOfAccess,
    /// A VLAN twice in one list.
    #[error("VLAN {0} is there twice: remove one of them")]
    TrunkTwice(VlanTag),
    /// A pod twice.
    #[error("pod {namespace}/{pod} is there twice: make one of them")]
    AttachmentTwice {
        /// Its namespace.
        namespace: NamespaceName,
        /// Its name.
        pod: PodName,
    },
    /// An address of two pods.
    #[error("address {0} is there twice: give each attachment its own")]
    IpTwice(IpAddr),
    /// A MAC address of two pods.
    #[error("MAC address {0} is there twice: give each attachment its own")]
    MacTwice(MacAddress),
    /// A list is too long.
    #[error("{count} are too many: use at most {maximum}")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        maximum: usize,
    },
    /// VPP numbers its bridge domains.
    #[error("bridge domains of VPP have no name: use bridge.id")]
    BridgeNameWithVpp,
    /// Open vSwitch names its bridges.
    #[error("bridges of Open vSwitch have no id: use bridge.name")]
    BridgeIdWithOvs,
    /// Not an age of MAC addresses that Open vSwitch takes.
    #[error("Open vSwitch takes {} to {} seconds", MAC_AGE_OVS.start(), MAC_AGE_OVS.end())]
    MacAgeWithOvs,
    /// Not an age of MAC addresses that VPP takes.
    #[error(
        "VPP counts minutes: use a multiple of {minute} from {minute} to {}",
        MAC_AGE_VPP.end(),
        minute = MAC_AGE_VPP.start()
    )]
    MacAgeWithVpp,
    /// A bridge domain of VPP learns a MAC address once, not once for each VLAN.
    #[error(
        "ports of VPP are in one VLAN: use the mode Access, or leave vlan out for a port that gets all VLANs as they are"
    )]
    TrunkWithVpp,
    /// Open vSwitch does not speak memif.
    #[error("Open vSwitch has no ports of the type Memif: use VhostUser, or a network with the engine VPP")]
    MemifWithOvs,
    /// Settings of memif for ports of another type.
    #[error("only ports of the type Memif have these settings: remove them, or set port.type to Memif")]
    OnlyForMemif,
    /// Settings of vhost-user for ports of another type.
    #[error("only ports of the type VhostUser have these settings: remove them, or set port.type to VhostUser")]
    OnlyForVhostUser,
    /// The kernel hands a frame to Open vSwitch's userspace datapath before it polices.
    #[error("Open vSwitch cannot limit what a pod sends over Veth: leave egressKbps out, or use VhostUser")]
    EgressOfVethWithOvs,
    /// Ports of Open vSwitch only connect.
    #[error("ports of Open vSwitch connect to the pod's program: use Client, or a network with the engine VPP")]
    ServerWithOvs,
    /// A pod without the volume would never learn the secret.
    #[error("a generated secret is told in the pod's volume: use it with the socket Volume")]
    SecretWithoutVolume,
    /// A label selector has an unknown operator.
    #[error("unknown operator {0:?}: use In, NotIn, Exists or DoesNotExist")]
    SelectorOperator(String),
    /// A label selector has values where none belong, or none where some do.
    #[error("In and NotIn need values; Exists and DoesNotExist take none")]
    SelectorValues,
    /// Not the file name of a plugin.
    #[error("{0:?} cannot be the file name of an IPAM plugin: use letters, digits, '.', '_' and '-'")]
    Plugin(String),
    /// Not a subnet.
    #[error("{0:?} is not a subnet: use CIDR notation without host bits, such as 10.56.217.0/24")]
    Subnet(String),
    /// Not an address with its prefix length.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// Not an address.
    #[error("{0:?} is not an IP address")]
    Ip(String),
    /// An address outside of its subnet.
    #[error("{address} is outside of {subnet}")]
    Outside {
        /// The address.
        address: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// The configuration has no JSON form.
    #[error("cannot be written as JSON: {0}")]
    Json(String),
}

/// Collects all problems, so that they are reported together.
#[derive(Default)]
pub(crate) struct Problems(Vec<InvalidField>);

impl Problems {
    pub(crate) fn add(&mut self, field: impl Into<String>, problem: Problem) {
        self.0.push(InvalidField { field: field.into(), problem });
    }

    pub(crate) fn add_if(&mut self, is_wrong: bool, field: &str, problem: Problem) {
        if is_wrong {
            self.add(field, problem);
        }
    }

    pub(crate) fn check<T, E: Into<Problem>>(&mut self, field: &str, result: Result<T, E>) -> Option<T> {
        result.map_err(|problem| self.add(field, problem.into())).ok()
    }

    pub(crate) const fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_invalid(self) -> InvalidSpec {
        InvalidSpec { problems: self.0 }
    }
}
