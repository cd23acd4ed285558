//! The IPAM configuration of a network, passed on to the plugin. The fields that the common plugins
//! share are typed, so that an invalid address is rejected when it is written and not when the
//! first pod starts.
//!
//! - `spec`: what users write, with its rules in CEL;
//! - `check`: the same rules in Rust;
//! - [`node_prefix`]: how the ranges of host-local are divided among the nodes, and its rules in
//!   CEL;
//! - [`divided_ranges`]: those rules in Rust;
//! - `plugin_cel`: the rules of host-local and static themselves in CEL;
//! - `plugin_rules`: the same in Rust;
//! - `ranges`: the ranges of host-local as it reads them.

mod check;
pub mod divided_ranges;
pub mod node_prefix;
mod plugin_cel;
mod plugin_rules;
pub mod problem;
mod ranges;
mod spec;

pub use check::check_definition;
pub(super) use check::ipam;
pub(super) use plugin_cel::static_addresses;
pub(super) use plugin_rules::check_fixed;
pub use ranges::{AssignedRange, assigned_ranges, range_sets};
pub use spec::{IpamAddress, IpamRange, IpamRoute, IpamSpec};
