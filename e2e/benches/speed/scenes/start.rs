//! The plugin's start: exec to exit of `VERSION`, beside the smallest program there is.

use super::rounds;
use crate::host::programs::{Programs, timed};
use crate::report::statistics::{median, times};
use crate::report::table;
use std::process::Command;

pub(crate) fn run(programs: &Programs) {
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..4 * rounds(1) {
        ours.push(programs.start());
        nothing.push(timed(&mut Command::new("/bin/true")).0);
    }
    let ratio = table::ratio(times(median(&ours), median(&nothing)));
    let cells = vec![table::p50(&ours), table::p50(&nothing), ratio];
    table::print("Start of a process, p50 in ms", &["userspace VERSION", "/bin/true", "ratio"], &[cells]);
}
