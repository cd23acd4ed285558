//! Computes the desired state of this node from all compiled networks.
//!
//! 1. [`spec_builder`] keeps the state that a selection needs besides its input, and calls
//!    [`select()`] for each change.
//! 2. [`select`](mod@select) selects the networks of the node. Pure.
//! 3. [`per_node`] adds what differs from node to node: peers of overlays, parts of address ranges.
//!    Pure.
//! 4. [`spec_store`] passes a new spec to the reconcilers, after [`persisted_state`] (IO) has
//!    written it: a later agent has to know what this one may have programmed.
//! 5. [`unselected`] (IO) tells the plugin why the other networks are not on the node.
//!
//! [`policy_store`] (IO) has the policies of the networks that have any, with a copy on disk
//! ([`policy_file`]).

mod background_sync;
pub mod per_node;
pub(crate) mod persisted_state;
mod policy_file;
pub(crate) mod policy_store;
pub mod select;
pub mod spec_builder;
pub(crate) mod spec_store;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod unselected;

pub(crate) use select::awaits_uplink;
pub use select::{Facts, select};
