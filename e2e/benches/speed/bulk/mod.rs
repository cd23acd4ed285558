//! The agent with a thousand networks or ports, against the same in raw transactions or messages.

pub(crate) mod open_vswitch;
pub(crate) mod running_agent;
mod vpp;
mod vpp_restart;

use crate::host::programs::Programs;
use usnet_test_vpp::Kind;

pub(crate) fn run(programs: &Programs) {
    open_vswitch::run(programs);
    let kind = Kind::best();
    println!("\nVPP: {kind}");
    vpp::run(kind);
    vpp_restart::run(kind);
}
