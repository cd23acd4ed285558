//! What keeps the node out of the networks: every kernel device that is a port of an engine is also
//! an interface of the node, and without this a pod could reach the node's addresses over it, steer
//! its routes, and have it forward packets.
//!
//! The device has a chain of nftables that drops all frames it receives. Engines have them before,
//! by packet sockets; nothing else of the node has: no ARP, neighbour discovery, router
//! advertisement, redirect, delivery to a program or forwarding. The chain is there before the
//! device is up.
//!
//! - [`isolate`]: the chain of one device (IO).
//! - [`Guard`], [`GuardOp`], [`diff`]: which chains there should be, and what to do. No IO.
//! - [`settings`]: a second layer, of the device itself.

mod guard;
mod plan;
pub mod settings;

pub use guard::{Frames, Guard, NicGuard, TABLE};
pub use plan::{GuardOp, ObservedGuard, diff};

use crate::nftables::{Batch, Nftables, NftablesError};

/// Gives a device of the thread's network namespace its chain. It may have it already.
///
/// # Errors
/// The kernel has no nftables for devices, or does not permit it.
pub fn isolate(device: &str) -> Result<(), NftablesError> {
    let mut batch = Batch::default();
    batch.add_table(TABLE);
    Guard::port(device).add_to(&mut batch);
    Nftables::open()?.commit(batch)
}
