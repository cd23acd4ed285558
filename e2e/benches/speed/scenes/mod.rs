//! What is measured: a file for each table.

mod addresses;
mod busy_disk;
mod calls;
mod calls_report;
mod guards;
pub(crate) mod ideal;
mod memory;
mod records;
pub(crate) mod start;

use crate::calls::kind::PortKind;
use crate::host::existing_ports;
use crate::host::node::{Node, PmdThreads};
use crate::host::programs::Programs;
use crate::report::Targets;
use std::env;
use usnet_crds::PortType;

/// Ports that the bridge has before.
const SIZES: [usize; 2] = [10, 500];
/// Calls at once.
const AT_ONCE: [usize; 3] = [1, 50, 100];

/// `USNET_SPEED=short` tries whether everything works; its figures say nothing.
fn rounds(at_once: usize) -> usize {
    let is_short = env::var_os("USNET_SPEED").is_some_and(|speed| speed == "short");
    match at_once {
        _ if is_short => 1,
        1 => 25,
        50 => 3,
        _ => 2,
    }
}

/// All kinds of ports, or that of `USNET_SPEED_PORT`.
fn wanted_kinds(node: &Node) -> Vec<PortKind> {
    let wanted = env::var("USNET_SPEED_PORT").ok();
    let kinds = PortKind::all(node.engine).into_iter();
    kinds.filter(|kind| wanted.as_ref().is_none_or(|wanted| wanted == kind.name)).collect()
}

pub(crate) fn on_open_vswitch(programs: &Programs, node: &Node, threads: PmdThreads, targets: &mut Targets) {
    let mut rows = Vec::new();
    let kinds = wanted_kinds(node);
    for (index, size) in SIZES.into_iter().enumerate() {
        existing_ports::fill(programs, node, if index == 0 { 0 } else { SIZES[index - 1] }, size);
        rows.extend(calls::run(programs, node, &kinds, size));
        if matches!(threads, PmdThreads::Poll) {
            if index == 0 {
                let veth = PortKind::of_type(node.engine, PortType::Veth);
                addresses::run(programs, node, &veth);
                guards::run(programs, node, &kinds, targets);
                others(programs, node, targets);
            }
            memory::run(programs, node, size, targets);
        }
    }
    calls_report::print(node, &rows, targets);
}

pub(crate) fn on_vpp(programs: &Programs, node: &Node, targets: &mut Targets) {
    let mut rows = Vec::new();
    let kinds = wanted_kinds(node);
    for (index, size) in SIZES.into_iter().enumerate() {
        existing_ports::fill(programs, node, if index == 0 { 0 } else { SIZES[index - 1] }, size);
        rows.extend(calls::run(programs, node, &kinds, size));
        if index == 0 {
            guards::run(programs, node, &kinds, targets);
            others(programs, node, targets);
        }
        memory::run(programs, node, size, targets);
    }
    calls_report::print(node, &rows, targets);
}

/// Guards and policies alone, with few ports.
pub(crate) fn checks(programs: &Programs, node: &Node, targets: &mut Targets) {
    existing_ports::fill(programs, node, 0, SIZES[0]);
    guards::run(programs, node, &wanted_kinds(node), targets);
}

/// What does not depend on the ports of the bridge, for the engine's default type.
fn others(programs: &Programs, node: &Node, targets: &mut Targets) {
    let kind = PortKind::of_type(node.engine, node.engine.default_port_type());
    busy_disk::run(programs, node, &kind);
    records::run(programs, node, &kind, targets);
}
