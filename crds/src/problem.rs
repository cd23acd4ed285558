//! Validation errors of a spec. The CEL rules have the same messages.

use crate::engine::{BridgeKey, EngineTraits};
use crate::network::ipam::problem::IpamProblem;
use crate::network::topology::TopologyType;
use crate::reservation::problem::ReservationProblem;
use crate::types::limits::IPAM_MAX;
use crate::types::number::EngineRange;
use crate::types::port_type::{AF_XDP_MTU_MAX, PortType};
use crate::types::vlan::VlanMode;
use crate::uplink::problem::UplinkProblem;
use crate::userspace_engine::problem::EngineProblem;
use crate::{
    EngineKind, InterfaceAddress, InvalidAddress, InvalidBridgeDomainId, InvalidHostAddress, InvalidMac, InvalidName,
    InvalidNic, InvalidRate, InvalidRingSize, InvalidVlanRange, MacAddress, NamespaceName, OutOfRange, PodNames,
    VlanTag,
};
use ipnet::IpNet;
use std::fmt;
use std::net::IpAddr;

/// All that is wrong with a spec; at least one problem.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct InvalidSpec {
    /// The problems, in the order of the fields.
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
    /// The path of the field, such as `spec.bridge.mtu`.
    pub field: String,
    pub problem: Problem,
}

pub(crate) const LABEL_ADVICE: &str = "use up to 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends, for keys optionally after a DNS name and '/'";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error(transparent)]
    Number(#[from] OutOfRange),
    #[error(transparent)]
    BridgeDomainId(#[from] InvalidBridgeDomainId),
    #[error(transparent)]
    RingSize(#[from] InvalidRingSize),
    #[error(transparent)]
    Rate(#[from] InvalidRate),
    #[error(transparent)]
    Mac(#[from] InvalidMac),
    #[error("the IPAM configuration has {0} bytes of JSON, and {max} is the limit", max = IPAM_MAX)]
    IpamTooLong(usize),
    #[error("the modes Access, NativeTagged and NativeUntagged need a tag")]
    TagMissing,
    #[error("the mode Trunk has no tag: remove it, or use the mode NativeTagged or NativeUntagged")]
    TagOfTrunk,
    #[error("the modes Trunk, NativeTagged and NativeUntagged need at least one VLAN in trunks")]
    TrunksMissing,
    #[error("the mode Access has no trunks: remove them, or use the mode NativeTagged or NativeUntagged")]
    TrunksOfAccess,
    #[error("VLAN {0} occurs twice: remove one of them")]
    TrunkTwice(VlanTag),
    #[error(
        "{pod} and the earlier {other} in namespace {namespace} have a pod in common: merge the entries, or change a range"
    )]
    AttachmentTwice { namespace: NamespaceName, pod: PodNames, other: PodNames },
    #[error("address {0} occurs twice: give each attachment its own")]
    IpTwice(IpAddr),
    #[error("MAC address {0} occurs twice: give each attachment its own")]
    MacTwice(MacAddress),
    #[error("from {first} on there are too few addresses in its subnet for {pods}: use a lower one, or fewer pods")]
    TooFewIps { first: InterfaceAddress, pods: PodNames },
    #[error("from {first} on there are too few MAC addresses for {pods}: use a lower one, or fewer pods")]
    TooFewMacs { first: MacAddress, pods: PodNames },
    #[error("{count} are too many: use at most {maximum}")]
    TooMany { count: usize, maximum: usize },
    #[error("{} of {engine} have no {}: use bridge.{}", bridges(engine), key.field(), own_key(engine))]
    BridgeKey {
        engine: EngineKind,
        /// The field that the engine does not have.
        key: BridgeKey,
    },
    /// Only users know which bridge to adopt.
    #[error(
        "an adopted {} needs its {key}: set bridge.{key}, or ownership Managed",
        .0.traits().bridge_noun,
        key = own_key(.0)
    )]
    AdoptedWithoutKey(EngineKind),
    #[error("{engine} {range}")]
    EngineRange { engine: EngineKind, range: EngineRange },
    #[error("{}", vlan_mode(*.0))]
    VlanMode(EngineKind),
    #[error(
        "{engine} has no ports of the type {}: use {}, or a network with the engine {}",
        port_type.as_str(),
        engine.default_port_type().as_str(),
        engines(|row| row.port_types.contains(port_type))
    )]
    PortType { engine: EngineKind, port_type: PortType },
    #[error(
        "only ports of the type {port_type} have these settings: remove them, or set port.type to {port_type}",
        port_type = .0.as_str()
    )]
    OnlyForType(PortType),
    #[error(
        "ports of the type {} do not have this setting: remove it, or use {}",
        port_type.as_str(),
        types.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(" or ")
    )]
    NotOfType {
        port_type: PortType,
        /// The types that have it.
        types: &'static [PortType],
    },
    #[error("Open vSwitch tries again only where it connects: remove transmitRetries, or use the engineRole Client")]
    RetriesOfServer,
    /// Its flows would take the place of those of others.
    #[error("in {0} usnet checks pods on bridges of its own only: remove antiSpoofing, or use ownership Managed")]
    AntiSpoofingOfAdopted(EngineKind),
    /// A classifier table compares frames of members of bridge domains.
    #[error("what pods claim to be is not checked on memifs in IP mode: remove antiSpoofing, or use the mode Ethernet")]
    AntiSpoofingOfRouted,
    /// Policies are about addresses, which any pod could use.
    #[error(
        "policies need pods that cannot use addresses of others: set port.antiSpoofing to Address, or remove policies"
    )]
    PoliciesWithoutAddresses,
    /// Which of its ports are of the network is only in the records of attachments.
    #[error("policies are enforced on bridges of usnet only: remove policies, or use ownership Managed")]
    PoliciesOfAdopted,
    /// A bridge tracks connections without their VLANs.
    #[error("policies are enforced on untagged ports only: remove the VLANs of ports, or policies")]
    PoliciesInVlan,
    #[error(
        "{engine} cannot limit what a pod sends over {}: leave egressKbps out, or use {}",
        port_type.as_str(),
        engine.default_port_type().as_str()
    )]
    EgressLimit { engine: EngineKind, port_type: PortType },
    /// A queueing discipline of the kernel limits it, which AF_XDP bypasses.
    #[error("what a pod receives by AF_XDP cannot be limited: leave ingressKbps out, or use veth.datapath Kernel")]
    IngressLimitOfAfXdp,
    #[error("the MTU of veth ports by AF_XDP is {AF_XDP_MTU_MAX} at most: use that, or veth.datapath Kernel")]
    MtuOfAfXdp,
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
    /// A bridge would apply them to frames, and such a port is on no bridge.
    #[error("memifs in IP mode have neither VLANs nor rate limits: remove them, or use the mode Ethernet")]
    RoutedWithBridgeSettings,
    #[error("unknown operator {0:?}: use In, NotIn, Exists or DoesNotExist")]
    SelectorOperator(String),
    #[error("{0:?} cannot be the key of a label: {LABEL_ADVICE}")]
    LabelKey(String),
    #[error("{0:?} cannot be the value of a label: {LABEL_ADVICE}")]
    LabelValue(String),
    #[error("In and NotIn need values; Exists and DoesNotExist take none")]
    SelectorValues,
    #[error("{0:?} cannot be the file name of an IPAM plugin: use letters, digits, '.', '_' and '-'")]
    Plugin(String),
    #[error(
        "userspace is the plugin that attaches pods, and assigns no addresses: use an IPAM plugin, such as host-local"
    )]
    OwnPlugin,
    #[error("{0:?} is not a subnet: use CIDR notation without host bits, such as 10.56.217.0/24")]
    Subnet(String),
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    #[error(transparent)]
    HostAddress(#[from] InvalidHostAddress),
    #[error("{0:?} is not an IP address")]
    Ip(String),
    #[error(
        "{0:?} is not the name of an interface that can be added: use 1 to 15 letters, digits, '.', '_' and '-', and neither eth0 nor lo"
    )]
    AddedInterface(String),
    #[error("{address} is outside of {subnet}")]
    Outside { address: IpAddr, subnet: IpNet },
    #[error("the type Uplink needs the member uplink: set its name")]
    UplinkMissing,
    #[error("only the type {0} has the member {member}: remove it, or set topology.type to {0}", member = .0.member())]
    OnlyForTopology(TopologyType),
    /// An adopted bridge is connected by others, and twice would be a loop.
    #[error(
        "nothing but ports of pods is added to an adopted bridge: use the type NodeLocal, or a bridge with ownership Managed"
    )]
    TopologyOfAdopted,
    #[error(
        "{0:?} is not a multicast group for an overlay: use an address from 225.0.0.0 to 239.255.255.255, or one that starts with ff for IPv6"
    )]
    MulticastGroup(String),
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
    #[error("the underlay Uplink and the member uplink belong together: set both or none of them")]
    UnderlayMember,
    /// Made by [`Problem::not_in_engine`].
    #[error("{holders} of {engine} have no {setting}: remove it, or use a network with the engine {others}")]
    NotInEngine {
        engine: EngineKind,
        /// What has the setting in other engines.
        holders: String,
        setting: &'static str,
        /// The engines that have the setting, by their names in the API.
        others: String,
    },
    /// Nothing but ports is added to an adopted bridge.
    #[error("an adopted bridge gets no gateway: remove it, or use a bridge with ownership Managed")]
    GatewayOfAdopted,
    #[error("there is no address: add one, or remove the whole field")]
    WithoutAddress,
    #[error("{0} is not an address of a host in its subnet: use one that is, such as 10.56.217.1/24")]
    NoHostAddress(InterfaceAddress),
    #[error("there is more than one address of a family: remove the others")]
    FamilyTwice,
    #[error("{0} is the address of the gateway: use another")]
    IpOfGateway(IpAddr),
    #[error("{0} is the address of the node in the network: use another")]
    IpOfNode(IpAddr),
    #[error("the node has no VLAN in a network: remove nodeAccess, or port.vlan")]
    NodeAccessInVlan,
    #[error("memifs in IP mode are on no bridge, by which the node could be in the network: remove nodeAccess")]
    NodeAccessWithoutBridge,
    #[error(transparent)]
    Uplink(#[from] UplinkProblem),
    #[error(transparent)]
    Nic(#[from] InvalidNic),
    #[error(transparent)]
    VlanRange(#[from] InvalidVlanRange),
    /// Only host-local counts on each node by itself.
    #[error("only host-local assigns the addresses of each node by itself: remove nodePrefix, or use host-local")]
    NodePrefixPlugin,
    #[error("there is no range to divide among the nodes: set ranges")]
    NodePrefixWithoutRange,
    #[error("the ranges have addresses of IPv{0}: set nodePrefix.ipv{0}")]
    NodePrefixMissing(u8),
    #[error("nodePrefix.ipv{family} {prefix} is shorter than the prefix of {subnet}: use {} or more", subnet.prefix_len())]
    NodePrefixShort {
        /// The IP version, 4 or 6.
        family: u8,
        prefix: u8,
        subnet: IpNet,
    },
    #[error("{0} overlaps with another range: with nodePrefix, two nodes would have the same addresses")]
    RangesOverlap(IpNet),
    #[error(transparent)]
    Ipam(#[from] IpamProblem),
    #[error(transparent)]
    Reservation(#[from] ReservationProblem),
    #[error(transparent)]
    Engine(#[from] EngineProblem),
    #[error("cannot be written as JSON: {0}")]
    Json(String),
}

impl Problem {
    /// A setting that the engine does not have: ports or bridges, the `holders`, have it in the
    /// engines that fit `has`.
    pub(crate) fn not_in_engine(
        engine: EngineKind,
        holders: impl Into<String>,
        setting: &'static str,
        has: impl Fn(&EngineTraits) -> bool,
    ) -> Self {
        Self::NotInEngine { engine, holders: holders.into(), setting, others: engines(has) }
    }
}

/// What the engine calls its bridges.
pub(crate) fn bridges(engine: &EngineKind) -> String {
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
        engine: EngineKind,
        range: EngineRange,
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
