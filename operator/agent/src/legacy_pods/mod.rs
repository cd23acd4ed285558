//! Takes over pods that Intel's userspace CNI attached, so that their ports are kept, counted and
//! deleted like others.
//!
//! 1. [`follow`](mod@follow) (IO) reads what that plugin left on the node
//!    ([`usnet_node::legacy_pods`]).
//! 2. [`matching`] finds the port of each interface in the engine, and its network. Pure.
//! 3. [`take_over`](mod@take_over) (IO) writes a record for each, before a reconcile is planned.
//! 4. The plan gives the port, and a bridge that has no others, a tag, and changes nothing else.

mod follow;
mod matching;
mod take_over;

pub(crate) use follow::{Found, follow};
pub(crate) use take_over::{Node, take_over};
