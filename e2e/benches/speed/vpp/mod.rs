//! The same with VPP: a real one where there is one, else the simulator, whose figures say nothing
//! about VPP.

mod agent;
mod attach;
mod floor;
mod many;
mod replay;

use crate::programs::Programs;
use usnet_test_vpp::Kind;

pub(crate) fn run(programs: &Programs) {
    let kind = Kind::best();
    println!("\nVPP: {kind}");
    attach::run(programs, kind);
    many::run(kind);
    replay::run(kind);
}
