//! The API of usnet: the custom resources, their statuses and validation rules. Pure: nothing here
//! performs IO, except the program `crdgen`.
//!
//! - [`types`]: validated newtypes (names, numbers, addresses), each checked once, on input.
//! - [`engine`]: the engines, and what each of them supports.
//! - [`network`]: `UserspaceNetwork`, which users write: one file for each part of its spec.
//! - [`uplink`]: `UserspaceUplink`, by which networks reach a NIC of the nodes.
//! - [`attachment`]: `UserspaceAttachment`, an interface of a running pod.
//! - [`reservation`]: `UserspaceReservation`, what the owner of a namespace fixes for its pods.
//! - [`userspace_engine`]: `UserspaceEngine`, an engine that usnet runs on nodes.
//! - [`compiled_network`]: what the controller makes of a network for the nodes.
//! - [`node_slice`]: the addresses of nodes, for overlays.
//! - [`pod_slice`]: the pods of networks with policies, and which selectors select them.
//! - [`node_state`]: the spec and the status of one node.
//! - [`conditions`]: the conditions of all objects, with their reasons and the texts of their
//!   messages.
//! - [`cni_error`]: the errors of the CNI plugin.
//! - [`policy`]: policies of a network, as nodes enforce them; [`multi_network_policy`]: as users
//!   write them; [`compiled_policy`]: as the API server has them for the nodes.
//! - [`nad`], [`legacy`]: NetworkAttachmentDefinitions, and those of Intel's userspace CNI.
//! - [`crdgen`]: the generated files in `config/crd` and `docs`.
//!
//! Without the feature `api` only the types remain that all programs share (names, limits, engines,
//! the network of a node): the CNI plugin uses those and links no Kubernetes crates.

pub mod cni_error;
pub mod compiled_network;
pub mod conditions;
pub mod engine;
pub mod ipam;
pub mod legacy;
pub mod network;
pub mod policy;
pub mod types;
pub mod uplink;
pub mod userspace_engine;

#[cfg(feature = "api")]
pub mod attachment;
#[cfg(feature = "api")]
mod cel;
#[cfg(feature = "api")]
pub mod compiled_policy;
#[cfg(feature = "api")]
pub mod crdgen;
#[cfg(feature = "api")]
pub mod multi_network_policy;
#[cfg(feature = "api")]
pub mod nad;
#[cfg(feature = "api")]
pub mod node_slice;
#[cfg(feature = "api")]
pub mod node_state;
#[cfg(feature = "api")]
pub mod pod_slice;
#[cfg(feature = "api")]
pub mod problem;
#[cfg(feature = "api")]
pub mod reservation;

pub use compiled_network::node_network::{Namespaces, NodeNetwork, Phase};
pub use compiled_network::node_overlay::{NodeOverlay, NodeUnderlay};
pub use engine::EngineKind;
pub use network::attachments::FixedAttachment;
pub use network::bridge::*;
pub use network::device_plugin::DevicePlugin;
pub use network::gateway::Gateway;
pub use network::node_access::NodeAccess;
pub use network::policies::Policies;
pub use network::port::Port;
pub use network::resource_claims::ResourceClaims;
pub use types::address::{InterfaceAddress, InvalidAddress};
pub use types::address_pair::{AddressPair, HostAddress, InvalidHostAddress};
pub use types::anti_spoofing::AntiSpoofing;
pub use types::bridge_domain::{BridgeDomainId, InvalidBridgeDomainId};
pub use types::device::{DeviceId, InvalidDeviceId};
pub use types::ip_family::IpFamily;
pub use types::limits::{DeviceCount, InvalidRingSize, Mtu, Queues, RingSize, TransmitRetries, VlanTag};
pub use types::mac::{InvalidMac, MacAddress};
pub use types::names::{
    BridgeName, InvalidName, NamespaceName, NetworkName, PodName, RoutingDomain, UplinkName, VolumeName,
};
pub use types::nic::{InvalidNic, NicName, PciAddress};
pub use types::number::OutOfRange;
pub use types::pod_names::PodNames;
pub use types::port_type::*;
pub use types::rate::{InvalidRate, KilobitsPerSecond, RateLimit};
pub use types::vlan::Vlan;
pub use types::vlan_ranges::{InvalidVlanRange, VlanRange, VlanRanges};
pub use types::vxlan::{Encapsulation, UdpPort, Vni};
pub use types::{device, names};
pub use uplink::{
    Binding, BondMode, LacpRate, NetworkUplink, Nic, NicBond, NicDevice, NicDriver, NodeTraffic, NodeUplink,
    UplinkDevice, XdpMode,
};

#[cfg(feature = "api")]
pub use attachment::node::{AttachmentReport, AttachmentState, RequestedAttachment};
#[cfg(feature = "api")]
pub use attachment::spec::{UserspaceAttachment, UserspaceAttachmentSpec};
#[cfg(feature = "api")]
pub use attachment::status::UserspaceAttachmentStatus;
#[cfg(feature = "api")]
pub use compiled_network::{
    CompiledNetwork, CompiledNetworkSpec, CompiledOverlay, CompiledState, selection as node_selection,
};
#[cfg(feature = "api")]
pub use compiled_policy::spec::{CompiledPolicy, CompiledPolicySpec};
#[cfg(feature = "api")]
pub use crdgen::{manifests, reference};
#[cfg(feature = "api")]
pub use multi_network_policy::spec::{MultiNetworkPolicy, MultiNetworkPolicySpec};
#[cfg(feature = "api")]
pub use nad::NetworkAttachmentDefinition;
#[cfg(feature = "api")]
pub use network::{UserspaceNetwork, UserspaceNetworkSpec, UserspaceNetworkStatus, validate};
#[cfg(feature = "api")]
pub use node_slice::{UserspaceNodeSlice, UserspaceNodeSliceSpec};
#[cfg(feature = "api")]
pub use node_state::{UserspaceNodeState, UserspaceNodeStateSpec, UserspaceNodeStateStatus};
#[cfg(feature = "api")]
pub use pod_slice::{UserspacePodSlice, UserspacePodSliceSpec};
#[cfg(feature = "api")]
pub use reservation::spec::{UserspaceReservation, UserspaceReservationSpec};
#[cfg(feature = "api")]
pub use reservation::status::UserspaceReservationStatus;
#[cfg(feature = "api")]
pub use uplink::nic::NicSpec;
#[cfg(feature = "api")]
pub use uplink::spec::{UserspaceUplink, UserspaceUplinkSpec};
#[cfg(feature = "api")]
pub use uplink::status::UserspaceUplinkStatus;
#[cfg(feature = "api")]
pub use uplink::validate::ValidUplink;
#[cfg(feature = "api")]
pub use userspace_engine::spec::{UserspaceEngine, UserspaceEngineSpec};
#[cfg(feature = "api")]
pub use userspace_engine::status::UserspaceEngineStatus;
