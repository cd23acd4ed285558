//! Commands: what usnet changes in VPP.
//!
//! [`VppCommand`] is one change, `requests` has its messages for each release of VPP, and
//! [`send()`] sends many in one batch.

mod requests;
mod send;
mod vpp_command;

pub(super) use send::{CommandBatch, send};
pub(super) use vpp_command::VppCommand;
