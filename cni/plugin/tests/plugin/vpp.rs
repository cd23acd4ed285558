//! What is particular to VPP.

mod dpdk;
mod faults;
mod kinds;
mod lengths;
mod plugins;
mod refusals;
mod refused;
