//! How fast usnet is, as ratios within one run, against the least that any program has to do and
//! against `ovs-vsctl` and `vppctl`: `make bench`. Parts: `ovs` and `vpp` measure the plugin with
//! that engine, `bulk` the agent that programs a thousand networks, `across` networks of two
//! nodes, `datapath` what checks of packets cost, `ideal` ADD and DEL beside the least that a
//! program with the same promises can do, `checks` what guards and policies add to ADD, which is
//! among the first two.
//!
//! Absolute times depend on the machine; each round therefore runs all that is compared in turn,
//! and only ratios say something. `docs/performance.md` explains the tables, which are printed as
//! Markdown on standard output.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark prints, and ends when its set-up fails"
)]

mod across;
mod bulk;
mod calls;
mod datapath;
mod host;
mod report;
mod scenes;

use host::node;
use host::programs::Programs;
use report::Targets;

fn main() {
    // Cargo passes `--bench` as well.
    let parts: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let is_wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let programs = Programs::from_environment();
    host::namespaces::separate();
    let mut targets = Targets::default();
    scenes::start::run(&programs);
    if is_wanted("ovs") {
        for threads in node::PmdThreads::BOTH {
            node::on_open_vswitch(threads, |node| scenes::on_open_vswitch(&programs, node, threads, &mut targets));
        }
    }
    if is_wanted("vpp") {
        node::on_vpp(|node| scenes::on_vpp(&programs, node, &mut targets));
    }
    if parts.iter().any(|part| part == "checks") {
        let threads = node::PmdThreads::Poll;
        node::on_open_vswitch(threads, |node| scenes::checks(&programs, node, &mut targets));
        node::on_vpp(|node| scenes::checks(&programs, node, &mut targets));
    }
    if is_wanted("ideal") {
        node::on_open_vswitch(node::PmdThreads::Poll, |node| scenes::ideal::run(&programs, node, &mut targets));
        node::on_vpp(|node| scenes::ideal::run(&programs, node, &mut targets));
    }
    if is_wanted("bulk") {
        bulk::run(&programs);
    }
    if is_wanted("datapath") {
        datapath::run(&mut targets);
    }
    if is_wanted("across") {
        across::run(&programs, &mut targets);
    }
    targets.print();
}
