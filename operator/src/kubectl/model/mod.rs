//! What the commands use of objects of the API server. Pure.
//!
//! - [`snapshot`]: objects as they were read, and what could not be read;
//! - [`pod`]: a pod, with what concerns its networks;
//! - [`selection`]: the networks that a pod selects by its annotation;
//! - [`interface`]: its interfaces, as Multus reports them;
//! - [`places`]: which nodes have a network, and how far they are.

pub(crate) mod interface;
pub(crate) mod places;
pub(crate) mod pod;
pub(crate) mod selection;
pub(crate) mod snapshot;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use pod::{Mount, Pod};
pub(crate) use snapshot::{Gap, Part, Snapshot};
