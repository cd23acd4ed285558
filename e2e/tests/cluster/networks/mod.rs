//! The lifecycle of networks: bridges, NADs, status, drift and deletion.

mod anti_spoofing;
mod applied;
pub(crate) mod appliers;
mod compiled_policies;
mod deletion;
mod drift;
mod gateways;
mod in_use;
mod kubectl_usnet;
mod manual_edits;
mod moved;
mod nads;
mod node_access;
mod node_slices;
mod refused_definitions;
mod samples;
mod status;
mod uplinks;
