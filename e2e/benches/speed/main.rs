//! How fast usnet is, as ratios within one run, against what cannot be beaten and against
//! `ovs-vsctl`: `make bench`. `make bench PART=vpp` runs the part with VPP alone, `PART=ovs` the
//! other.
//!
//! Absolute times depend on the machine; each iteration therefore runs all contestants in turn, and
//! only medians and their ratios say something.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark prints, and ends when its set-up fails"
)]

mod at_once;
mod attach;
mod kinds;
mod many;
mod node;
mod pod;
mod programs;
mod start;
mod vpp;

fn main() {
    // Cargo passes `--bench` as well.
    let parts: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let programs = programs::Programs::from_environment();
    programs::separate();
    start::run(&programs);
    if is_wanted("ovs") {
        attach::run(&programs);
        many::run(&programs);
        node::on_open_vswitch(|node| measure(&programs, node));
    }
    if is_wanted("vpp") {
        vpp::run(&programs);
        node::on_vpp(|node| measure(&programs, node));
    }
}

fn measure(programs: &programs::Programs, node: &node::Node) {
    kinds::run(programs, node);
    at_once::run(programs, node);
}
