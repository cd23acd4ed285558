//! Applying a list of operations: in parts, each with a snapshot of its own.
//!
//! `session`, `create_ports` (sockets, interfaces, their configuration, reading back), `guards`
//! (the tables that filter what pods send) and `legacy` (removes a port of Intel's userspace CNI)
//! perform IO; `failure` (what the reply to a command means for its operation) does not.

mod create_ports;
mod failure;
mod guards;
mod legacy;
mod session;

pub(super) use guards::unguardable;
pub(super) use legacy::remove_legacy_port;
pub(super) use session::apply;
