//! How fast usnet is, as ratios within one run, against what cannot be beaten and against `ovs-vsctl`: `make bench`.
//!
//! Absolute times depend on the machine; each iteration therefore runs all contestants in turn, and only medians and their ratios say something.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark prints, and ends when its set-up fails"
)]

mod attach;
mod many;
mod programs;
mod start;

fn main() {
    // Cargo passes `--bench`; anything else would be a filter, which this does not have.
    let programs = programs::Programs::from_environment();
    programs::private_mounts();
    start::run(&programs);
    attach::run(&programs);
    many::run(&programs);
}
