//! The text of every message of a condition, and of a network in the status or the files of a node.
//! Functions without IO, so that a text can be changed here alone. A message says what is wrong,
//! where, and what to do; causes that an engine or the API server reports are arguments.

#[cfg(feature = "api")]
pub mod attachment;
pub mod gateway;
#[cfg(feature = "api")]
pub mod network;
pub mod node;
pub mod node_access;
pub mod overlay;
pub mod policies;
#[cfg(feature = "api")]
pub mod reservation;
pub mod uplink;
#[cfg(feature = "api")]
pub mod uplink_status;

/// A number with its noun in the singular or plural.
#[cfg(feature = "api")]
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}
