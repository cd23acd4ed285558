//! Applying a list of operations: in parts, each with a snapshot of its own.
//!
//! `session` and `create_ports` (sockets, interfaces, their configuration, reading back) perform
//! IO; `failure` (what the reply to a command means for its operation) does not.

mod create_ports;
mod failure;
mod session;

pub(super) use session::apply;
