//! Tests that are specific to VPP.

mod dpdk;
mod faults;
mod kinds;
mod lengths;
mod plugins;
mod refusals;
mod refused;
