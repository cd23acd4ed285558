//! The API of usnet: the custom resources, their statuses and validation rules.
//!
//! Without the feature `api` only the types remain that all programs share (names, limits, engines,
//! the network of a node): the CNI plugin uses those and links no Kubernetes crates.

pub mod bridge_domain;
pub mod device;
pub mod fixed_attachment;
pub mod legacy;
pub mod limits;
pub mod mac;
pub mod names;
pub mod node_network;
pub mod rate;
pub mod vlan;

#[cfg(feature = "api")]
pub mod compiled_network;
#[cfg(feature = "api")]
pub mod conditions;
#[cfg(feature = "api")]
pub mod ipam;
#[cfg(feature = "api")]
pub mod manifests;
#[cfg(feature = "api")]
pub mod nad;
#[cfg(feature = "api")]
pub mod network;
#[cfg(feature = "api")]
pub mod node_selection;
#[cfg(feature = "api")]
pub mod node_state;
#[cfg(feature = "api")]
pub mod reference;
#[cfg(feature = "api")]
mod rules;
#[cfg(feature = "api")]
mod schema;
#[cfg(feature = "api")]
pub mod validate;

pub use bridge_domain::{BridgeDomainId, InvalidBridgeDomainId};
pub use device::{DeviceId, DevicePlugin, InvalidDeviceId};
pub use fixed_attachment::{FixedAttachment, InterfaceAddress, InvalidAddress};
pub use limits::{DeviceCount, InvalidRingSize, MacAge, Mtu, OutOfRange, Queues, RingSize, VlanTag};
pub use mac::{InvalidMac, MacAddress};
pub use names::{BridgeName, InvalidName, NamespaceName, NetworkName, PodName};
pub use node_network::{
    Bridge, Engine, MacLearning, Memif, MemifSecretKind, MemifSocketKind, Namespaces, NodeNetwork, Ownership, Phase,
    Port, PortType, SocketRole, VhostUser,
};
pub use rate::{InvalidRate, KilobitsPerSecond, RateLimit};
pub use vlan::Vlan;

#[cfg(feature = "api")]
pub use compiled_network::{CompiledNetwork, CompiledNetworkSpec};
#[cfg(feature = "api")]
pub use nad::NetworkAttachmentDefinition;
#[cfg(feature = "api")]
pub use network::{UserspaceNetwork, UserspaceNetworkSpec, UserspaceNetworkStatus};
#[cfg(feature = "api")]
pub use node_state::{UserspaceNodeState, UserspaceNodeStateSpec, UserspaceNodeStateStatus};
