//! Networks across nodes: packets between two nodes and the CPU that each takes, against the same
//! configured by hand; one peer more; and a thousand overlays, against raw netlink messages and
//! one transaction.

mod by_hand;
mod many;
mod nodes;
mod peers;
mod raw;
mod traffic;
mod usnet;

use crate::host::programs::Programs;
use crate::report::Targets;

pub(crate) fn run(programs: &Programs, targets: &mut Targets) {
    traffic::run(programs, targets);
    peers::run();
    many::run(programs, targets);
}

/// `USNET_SPEED=short` tries whether everything works; its figures say nothing.
fn is_short() -> bool {
    std::env::var_os("USNET_SPEED").is_some_and(|speed| speed == "short")
}
