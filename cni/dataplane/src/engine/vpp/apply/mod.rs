//! Applying a list of operations: in parts, each with a snapshot of its own.
//!
//! `session`, `create_ports` (sockets, interfaces, their configuration, reading back), `guards`
//! (the tables that filter what pods send) and `legacy` (removes a port of Intel's userspace CNI)
//! perform IO; `failure` (what the reply to a command means for its operation), `new_checks` and
//! `new_guards` (what new interfaces may send and have) do not.

mod create_ports;
mod failure;
mod guards;
mod legacy;
mod new_checks;
mod new_guards;
mod session;

pub(super) use guards::unguardable;
pub(super) use legacy::remove_legacy_port;
pub(super) use session::apply;
