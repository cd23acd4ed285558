//! The plugin's start: exec to exit of `VERSION`, beside the smallest program there is.

use crate::programs::{Programs, median, ratio, report, timed};
use std::process::Command;

const RUNS: usize = 100;

pub(crate) fn run(programs: &Programs) {
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let mut version = Command::new(&programs.userspace);
        version.env("CNI_COMMAND", "VERSION").stdin(std::process::Stdio::null());
        let (took, answer) = timed(&mut version);
        assert!(answer.contains("supportedVersions"), "{answer}");
        ours.push(took);
        nothing.push(timed(&mut Command::new("/bin/true")).0);
    }
    println!("\nStart, median of {RUNS}");
    report("userspace VERSION, exec to exit", median(&ours));
    report("/bin/true, exec to exit", median(&nothing));
    ratio("userspace VERSION / true", median(&ours), median(&nothing), "VERSION within 3 ms");
}
