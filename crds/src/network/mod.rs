//! `UserspaceNetwork`: the object that users write. One network is one layer-2 segment: a bridge on
//! each of its nodes, and the namespaces that may use it.
//!
//! Each part of the spec has one file with all that is said of it: the fields with their
//! descriptions, the CEL rules that the API server evaluates, the same rules in Rust (the CRD of a
//! cluster may be older), and the validated type that nodes read. [`validate`] calls the checks of
//! all parts.

pub mod attachments;
pub mod bridge;
pub mod device_plugin;
pub mod gateway;
pub mod node_access;
pub mod policies;
pub mod port;
pub mod resource_claims;
pub(crate) mod settings;

#[cfg(feature = "api")]
mod definitions;
#[cfg(feature = "api")]
pub mod ipam;
#[cfg(feature = "api")]
mod name;
#[cfg(feature = "api")]
pub(crate) mod selectors;
#[cfg(feature = "api")]
mod spec;
#[cfg(feature = "api")]
mod status;
#[cfg(feature = "api")]
pub mod topology;
#[cfg(feature = "api")]
pub mod validate;

#[cfg(feature = "api")]
pub use {
    crate::types::limits::{ATTACHMENTS_MAX, IPS_MAX, RESERVATIONS_MAX, SELECTOR_VALUES_MAX},
    crate::types::vlan::VlanMode,
    attachments::AttachmentSpec,
    bridge::spec::BridgeSpec,
    definitions::{Definitions, SHARED_NAMESPACE, SYSTEM_NAMESPACES},
    device_plugin::DevicePluginSpec,
    gateway::GatewaySpec,
    node_access::NodeAccessSpec,
    port::vlan::VlanSpec,
    port::{PortSpec, RateLimitSpec},
    resource_claims::ResourceClaimsSpec,
    spec::{UserspaceNetwork, UserspaceNetworkSpec},
    status::{FAILURES_MAX, NodeCounts, NodeFailure, OverlayStatus, STATUS_PODS_MAX, UserspaceNetworkStatus},
    topology::{OverlaySpec, TopologySpec, TopologyType, UnderlaySpec, UnderlayType, UnderlayUplinkSpec, UplinkSpec},
};

/// The finalizer, which keeps a deleted network until no pod uses it and no node carries it any
/// more.
pub const FINALIZER: &str = "usnet.dev/in-use";
/// The annotation that forces a deletion, with the name of the network as its value: the network is
/// deleted although pods still use it, and their ports stay until the pods end.
pub const FORCE_DELETE: &str = "usnet.dev/force-delete";
