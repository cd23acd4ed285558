//! Validation errors of a spec. The CEL rules have the same messages.

use crate::engine::{BridgeKey, EngineTraits};
use crate::network::ipam::problem::IpamProblem;
use crate::network::topology::TopologyType;
use crate::types::limits::IPAM_MAX;
use crate::types::number::EngineRange;
use crate::types::port_type::{PortType, SocketRole};
use crate::types::vlan::VlanMode;
use crate::uplink::problem::UplinkProblem;
use crate::{
    EngineKind, InterfaceAddress, InvalidAddress, InvalidBridgeDomainId, InvalidMac, InvalidName, InvalidNic,
    InvalidRate, InvalidRingSize, InvalidVlanRange, MacAddress, NamespaceName, OutOfRange, PodName, VlanTag,
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

pub(crate) const LABEL_ADVICE: &str = "use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, for keys optionally after a DNS name and '/'";

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
    #[error("VLAN {0} occurs twice: remove one of them")]
    TrunkTwice(VlanTag),
    /// A pod twice.
    #[error("pod {namespace}/{pod} occurs twice: merge the entries")]
    AttachmentTwice {
        /// Its namespace.
        namespace: NamespaceName,
        /// Its name.
        pod: PodName,
    },
    /// An address of two pods.
    #[error("address {0} occurs twice: give each attachment its own")]
    IpTwice(IpAddr),
    /// A MAC address of two pods.
    #[error("MAC address {0} occurs twice: give each attachment its own")]
    MacTwice(MacAddress),
    /// A list is too long.
    #[error("{count} are too many: use at most {maximum}")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        maximum: usize,
    },
    /// The engine has no such field of a bridge.
    #[error("{} of {engine} have no {}: use bridge.{}", bridges(engine), key.field(), own_key(engine))]
    BridgeKey {
        /// The engine.
        engine: EngineKind,
        /// The field that it does not have.
        key: BridgeKey,
    },
    /// Only users know which bridge to adopt.
    #[error(
        "an adopted {} needs its {key}: set bridge.{key}, or ownership Managed",
        .0.traits().bridge_noun,
        key = own_key(.0)
    )]
    AdoptedWithoutKey(EngineKind),
    /// Not a number that the engine accepts.
    #[error("{engine} {range}")]
    EngineRange {
        /// The engine.
        engine: EngineKind,
        /// What it accepts.
        range: EngineRange,
    },
    /// Ports of the engine do not have every VLAN mode.
    #[error("{}", vlan_mode(*.0))]
    VlanMode(EngineKind),
    /// The engine has no ports of this type.
    #[error(
        "{engine} has no ports of the type {}: use {}, or a network with the engine {}",
        port_type.as_str(),
        engine.default_port_type().as_str(),
        engines(|row| row.port_types.contains(port_type))
    )]
    PortType {
        /// The engine.
        engine: EngineKind,
        /// The type.
        port_type: PortType,
    },
    /// Settings of one type for ports of another.
    #[error(
        "only ports of the type {port_type} have these settings: remove them, or set port.type to {port_type}",
        port_type = .0.as_str()
    )]
    OnlyForType(PortType),
    /// The engine cannot limit what a pod sends over ports of this type.
    #[error(
        "{engine} cannot limit what a pod sends over {}: leave egressKbps out, or use {}",
        port_type.as_str(),
        engine.default_port_type().as_str()
    )]
    EgressLimit {
        /// The engine.
        engine: EngineKind,
        /// The type.
        port_type: PortType,
    },
    /// The engine cannot be this end of a vhost-user socket.
    #[error("{}", engine_role(*engine, *role))]
    EngineRole {
        /// The engine.
        engine: EngineKind,
        /// The end.
        role: SocketRole,
    },
    /// A pod without the volume would never learn the secret.
    #[error("a generated secret is passed in the pod's volume: use it with the socket Volume")]
    SecretWithoutVolume,
    /// Ports in IP mode are on no bridge.
    #[error(
        "packets of memifs in IP mode are routed by the network's gateway: set spec.gateway, or use the mode Ethernet"
    )]
    RoutedWithoutGateway,
    /// The gateway of one node does not know the pods of another.
    #[error("memifs in IP mode are reached on their own node only: use topology.type NodeLocal, or the mode Ethernet")]
    RoutedAcrossNodes,
    /// What a bridge does to frames.
    #[error("memifs in IP mode have neither VLANs nor rate limits: remove them, or use the mode Ethernet")]
    RoutedWithBridgeSettings,
    /// A label selector has an unknown operator.
    #[error("unknown operator {0:?}: use In, NotIn, Exists or DoesNotExist")]
    SelectorOperator(String),
    /// No label can have this key.
    #[error("{0:?} cannot be the key of a label: {LABEL_ADVICE}")]
    LabelKey(String),
    /// No label can have this value.
    #[error("{0:?} cannot be the value of a label: {LABEL_ADVICE}")]
    LabelValue(String),
    /// A label selector has values where none belong, or none where some do.
    #[error("In and NotIn need values; Exists and DoesNotExist take none")]
    SelectorValues,
    /// Not the file name of a plugin.
    #[error("{0:?} cannot be the file name of an IPAM plugin: use letters, digits, '.', '_' and '-'")]
    Plugin(String),
    /// The plugin that calls IPAM plugins.
    #[error(
        "userspace is the plugin that attaches pods, and assigns no addresses: use an IPAM plugin, such as host-local"
    )]
    OwnPlugin,
    /// Not a subnet.
    #[error("{0:?} is not a subnet: use CIDR notation without host bits, such as 10.56.217.0/24")]
    Subnet(String),
    /// Not an address with its prefix length.
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    /// Not an address.
    #[error("{0:?} is not an IP address")]
    Ip(String),
    /// Not the name of an interface that a running pod can get.
    #[error(
        "{0:?} is not the name of an interface that can be added: use 1 to 15 letters, digits, '.', '_' and '-', and neither eth0 nor lo"
    )]
    AddedInterface(String),
    /// An address outside of its subnet.
    #[error("{address} is outside of {subnet}")]
    Outside {
        /// The address.
        address: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// The type Uplink without its member.
    #[error("the type Uplink needs the member uplink: set its name")]
    UplinkMissing,
    /// A member of the union that `type` does not have.
    #[error("only the type {0} has the member {member}: remove it, or set topology.type to {0}", member = .0.member())]
    OnlyForTopology(TopologyType),
    /// An adopted bridge is connected by others, and twice would be a loop.
    #[error(
        "nothing but ports of pods is added to an adopted bridge: use the type NodeLocal, or a bridge with ownership Managed"
    )]
    TopologyOfAdopted,
    /// Not an address that nodes can send broadcasts to.
    #[error(
        "{0:?} is not a multicast group for an overlay: use an address from 225.0.0.0 to 239.255.255.255, or one that starts with ff for IPv6"
    )]
    MulticastGroup(String),
    /// The nodes send from addresses of the other family.
    #[error("the multicast group is not of the family of the nodes' addresses: use one of ipFamily, or set ipFamily")]
    MulticastFamily,
    /// The engine sends to each node by itself.
    #[error(
        "an overlay with the encapsulation Engine has no multicast group: remove it, or use the encapsulation Kernel"
    )]
    MulticastOfEngine,
    /// An engine encapsulates on a NIC that it has, and Linux with the address of the node.
    #[error(
        "the encapsulation Engine and the underlay Uplink belong together: set both, or the encapsulation Kernel and the underlay NodeAddress"
    )]
    UnderlayOfEncapsulation,
    /// The member of the union that `type` requires, or one that it does not have.
    #[error("the underlay Uplink and the member uplink belong together: set both or none of them")]
    UnderlayMember,
    /// The engine has no gateways.
    #[error(
        "{bridges} of {0} have no gateway: remove it, or use a network with the engine {engines}",
        bridges = bridges(.0),
        engines = engines(|row| row.has_gateways)
    )]
    GatewayEngine(EngineKind),
    /// Nothing but ports is added to an adopted bridge.
    #[error("an adopted bridge gets no gateway: remove it, or use a bridge with ownership Managed")]
    GatewayOfAdopted,
    /// A gateway without an address.
    #[error("a gateway needs an address: add one, or remove the gateway")]
    GatewayWithoutAddress,
    /// Not an address that a host can have.
    #[error("{0} is not an address of a host in its subnet: use one that is, such as 10.56.217.1/24")]
    GatewayAddress(InterfaceAddress),
    /// More than one address of a family.
    #[error("a gateway has at most one address of each family: remove the others")]
    GatewayFamilyTwice,
    /// An address of a pod and of the gateway.
    #[error("{0} is the address of the gateway: use another")]
    IpOfGateway(IpAddr),
    /// An uplink.
    #[error(transparent)]
    Uplink(#[from] UplinkProblem),
    /// A NIC.
    #[error(transparent)]
    Nic(#[from] InvalidNic),
    /// A range of VLANs.
    #[error(transparent)]
    VlanRange(#[from] InvalidVlanRange),
    /// Only host-local counts on each node by itself.
    #[error("only host-local assigns the addresses of each node by itself: remove nodePrefix, or use host-local")]
    NodePrefixPlugin,
    /// There is nothing to divide.
    #[error("there is no range to divide among the nodes: set ranges")]
    NodePrefixWithoutRange,
    /// The prefix of a family is missing.
    #[error("the ranges have addresses of IPv{0}: set nodePrefix.ipv{0}")]
    NodePrefixMissing(u8),
    /// The parts would be larger than a range.
    #[error("nodePrefix.ipv{family} {prefix} is shorter than the prefix of {subnet}: use {} or more", subnet.prefix_len())]
    NodePrefixShort {
        /// 4 or 6.
        family: u8,
        /// The prefix.
        prefix: u8,
        /// The subnet that it is to divide.
        subnet: IpNet,
    },
    /// Two nodes would have one address.
    #[error("{0} overlaps with another range: with nodePrefix, two nodes would have the same addresses")]
    RangesOverlap(IpNet),
    /// An IPAM configuration, or an address that it is for.
    #[error(transparent)]
    Ipam(#[from] IpamProblem),
    /// The configuration has no JSON form.
    #[error("cannot be written as JSON: {0}")]
    Json(String),
}

/// What the engine calls its bridges.
fn bridges(engine: &EngineKind) -> String {
    format!("{}s", engine.traits().bridge_noun)
}

/// The field by which users choose a bridge of the engine.
fn own_key(engine: &EngineKind) -> &'static str {
    engine.traits().bridge_key.field()
}

/// The engines that support something, by their names in the API.
fn engines(supports: impl Fn(&EngineTraits) -> bool) -> String {
    let rows = EngineKind::ALL.into_iter().map(EngineKind::traits).filter(|row| supports(row));
    rows.map(|row| row.api_name).collect::<Vec<_>>().join(" or ")
}

fn vlan_mode(engine: EngineKind) -> String {
    match engine.traits().vlan_modes {
        [VlanMode::Access] => format!(
            "ports of {engine} are in one VLAN: use the mode Access, or leave vlan out for a port that gets all VLANs as they are"
        ),
        modes => {
            let modes: Vec<&str> = modes.iter().map(|mode| mode.as_str()).collect();
            format!("ports of {engine} do not have this mode: use {}, or leave vlan out", modes.join(" or "))
        }
    }
}

fn engine_role(engine: EngineKind, role: SocketRole) -> String {
    let (does, other) = match role {
        SocketRole::Server => ("connect to the pod's program", SocketRole::Client),
        SocketRole::Client => ("listen for the pod's program", SocketRole::Server),
    };
    let others = engines(|row| row.vhost_user_roles.contains(&role));
    format!("ports of {engine} {does}: use {}, or a network with the engine {others}", other.as_str())
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

    /// A number, if its type and the engine have it.
    pub(crate) fn check_range<T: TryFrom<i64>>(
        &mut self,
        field: &str,
        number: i64,
        (engine, range): (EngineKind, EngineRange),
    ) -> Option<T> {
        let checked = T::try_from(number).ok().filter(|_| range.contains(number));
        self.check(field, checked.ok_or(Problem::EngineRange { engine, range }))
    }

    pub(crate) const fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn into_invalid(self) -> InvalidSpec {
        InvalidSpec { problems: self.0 }
    }
}
