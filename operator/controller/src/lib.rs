//! The controller: computes the desired state of all nodes, once for the cluster. The steps in
//! order; those that perform IO are marked, all others are pure:
//!
//! 1. [`run`](mod@run) (IO): starts everything; its event loop calls the other steps;
//! 2. [`watch`] (IO): the watches of the API server;
//! 3. [`cache`]: the cluster as last observed, and what a change of it makes dirty;
//! 4. [`evaluate`]: evaluates what is dirty, with the next three, each a function of the cache;
//! 5. [`compile`]: compiled networks, node states and NetworkAttachmentDefinitions ("NADs" below);
//! 6. [`status`]: conditions for users;
//! 7. [`legacy`]: NADs of Intel's userspace CNI;
//! 8. [`write`](mod@write): the pending writes, their order and how many are in flight, and the
//!    requests (IO);
//! 9. [`events`]: Kubernetes Events (IO);
//! 10. [`device_classes`]: DeviceClasses of networks with resource claims (IO).
//!
//! Nothing that is cached or written grows with networks × nodes. Several replicas may run: all
//! watch, and the one that [`crate::leader`] elects writes.

#![cfg_attr(not(feature = "run"), allow(dead_code, reason = "the program uses it"))]

pub mod cache;
pub mod compile;
#[cfg(feature = "run")]
pub mod device_classes;
pub mod evaluate;
pub mod events;
#[cfg(feature = "run")]
pub mod leader;
pub mod legacy;
#[cfg(feature = "run")]
pub mod run;
pub mod status;
#[cfg(test)]
#[cfg(feature = "run")]
mod tests;
#[cfg(feature = "run")]
pub(crate) mod watch;
pub mod write;

#[cfg(feature = "run")]
pub use run::{Error, Options, run};

/// The name of the Lease that the leader holds, in the controller's namespace.
pub const LEASE_NAME: &str = "usnet-controller";
