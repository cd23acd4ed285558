//! Tests that are specific to VPP.

mod dpdk;
mod error_replies;
mod failures;
mod faults;
pub(crate) mod lengths;
mod plugins;
mod port_types;
