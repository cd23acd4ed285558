//! What the controller makes of a network: one [`CompiledNetwork`] for all nodes, from which each
//! agent [selects](selection) what its node carries, and the [network](node_network::NodeNetwork)
//! as that node and its CNI plugin have it.

mod bridge_sharing;
pub mod node_network;
pub mod node_overlay;

#[cfg(feature = "api")]
pub mod node_ranges;
#[cfg(feature = "api")]
pub mod selection;
#[cfg(feature = "api")]
mod spec;

#[cfg(feature = "api")]
pub use spec::{CompiledNetwork, CompiledNetworkSpec, CompiledOverlay, CompiledState};
