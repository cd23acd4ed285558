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

pub mod cache;
pub mod compile;
pub mod device_classes;
pub mod evaluate;
pub mod events;
pub mod legacy;
pub mod run;
pub mod status;
#[cfg(test)]
mod tests;
pub(crate) mod watch;
pub mod write;

pub use run::{Error, Options, run};
