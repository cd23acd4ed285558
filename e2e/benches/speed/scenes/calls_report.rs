//! The tables of ADD and DEL, and their targets.

use super::calls::{Row, Taken};
use super::{AT_ONCE, SIZES};
use crate::host::node::Node;
use crate::report::statistics::{median, percentile, times};
use crate::report::{Targets, table};
use std::time::Duration;
use usnet_crds::{EngineKind, PortType};

/// One verb.
#[derive(Clone, Copy)]
struct Verb {
    name: &'static str,
    of: fn(&Taken) -> &Vec<Duration>,
}

const ADD: Verb = Verb { name: "ADD", of: |taken| &taken.add };
const DEL: Verb = Verb { name: "DEL", of: |taken| &taken.del };

pub(crate) fn print(node: &Node, rows: &[Row], targets: &mut Targets) {
    for verb in [ADD, DEL] {
        print_verb(node, rows, verb, targets);
    }
    print_growth(node, rows, targets);
}

fn print_verb(node: &Node, rows: &[Row], verb: Verb, targets: &mut Targets) {
    let heading = format!("{}: {} in ms", node.name, verb.name);
    let mut columns = vec![
        "port",
        "ports before",
        "at once",
        "p50",
        "p99",
        "floor p50",
        "floor p99",
        "start p50",
        "p50 / (floor + start)",
    ];
    columns.extend(["target", "p99 / p50", "target", "by hand p50"]);
    if verb.name == ADD.name {
        columns.extend(["sync p50", "p50 / (max(floor, sync) + start)"]);
    }
    let has_removal = rows.iter().any(|row| !row.unwaited.del.is_empty()) && verb.name == DEL.name;
    if has_removal {
        columns.extend(["transaction and `ip link del`", "p50 / that", "target"]);
    }
    let lines: Vec<_> = rows
        .iter()
        .map(|row| {
            let mut line = cells(node, row, verb, targets);
            if verb.name == ADD.name {
                let (floor, sync) = (median(&row.floor.add), median(&row.sync));
                let with_disk = floor.max(sync) + median(&row.start);
                line.extend([table::p50(&row.sync), table::ratio(times(median(&row.plugin.add), with_disk))]);
            }
            if has_removal {
                line.extend(compare_removal(node, row, targets));
            }
            line
        })
        .collect();
    table::print(&heading, &columns, &lines);
}

fn cells(node: &Node, row: &Row, verb: Verb, targets: &mut Targets) -> Vec<String> {
    let (plugin, floor) = ((verb.of)(&row.plugin), (verb.of)(&row.floor));
    let (p50, p99) = (median(plugin), percentile(plugin, 99));
    let ratio = times(p50, median(floor) + median(&row.start));
    let spread = times(p99, p50);
    let target = target_of(row, verb);
    let checked = target.map(|(name, at_most)| targets.check(&name, place(node, row), ratio, at_most));
    let is_spread_checked = verb.name == DEL.name && row.at_once == AT_ONCE[1];
    let spread_checked =
        is_spread_checked.then(|| targets.check("50 DELs at once, p99 / p50", place(node, row), spread, 2.0));
    let none = || table::NONE.to_owned();
    vec![
        row.kind.name.to_owned(),
        row.ports.to_string(),
        row.at_once.to_string(),
        table::p50(plugin),
        table::p99(plugin),
        table::p50(floor),
        table::p99(floor),
        table::p50(&row.start),
        table::ratio(ratio),
        checked.unwrap_or_else(none),
        table::ratio(spread),
        spread_checked.unwrap_or_else(none),
        table::p50((verb.of)(&row.by_hand)),
    ]
}

fn target_of(row: &Row, verb: Verb) -> Option<(String, f64)> {
    match (verb.name, row.kind.port.port_type, row.kind.engine) {
        ("ADD", PortType::Memif, _) => Some(("memif ADD / (floor + start)".to_owned(), 1.3)),
        ("ADD", ..) => Some(("ADD / (floor + start)".to_owned(), 1.2)),
        (_, PortType::VhostUser, EngineKind::OpenVswitch) => Some(("vhost-user DEL / (floor + start)".to_owned(), 0.5)),
        _ => None,
    }
}

fn compare_removal(node: &Node, row: &Row, targets: &mut Targets) -> Vec<String> {
    if row.unwaited.del.is_empty() {
        return vec![table::NONE.to_owned(); 3];
    }
    let value = times(median(&row.plugin.del), median(&row.unwaited.del));
    let checked = targets.check("veth DEL / (transaction and ip link del)", place(node, row), value, 1.0);
    vec![table::p50(&row.unwaited.del), table::ratio(value), checked]
}

/// How much slower a call is with many ports on the bridge.
fn print_growth(node: &Node, rows: &[Row], targets: &mut Targets) {
    let [few, many] = SIZES;
    let mut lines = Vec::new();
    for one in rows.iter().filter(|row| row.ports == few && row.at_once == 1) {
        let same = |row: &&Row| row.kind.name == one.kind.name && row.at_once == 1 && row.ports == many;
        let Some(other) = rows.iter().find(same) else { continue };
        for verb in [ADD, DEL] {
            let of = |row: &Row| (median((verb.of)(&row.plugin)), median((verb.of)(&row.floor)));
            let ((plugin, floor), (plugin_many, floor_many)) = (of(one), of(other));
            let value = times(plugin_many, plugin);
            let target = format!("{} with {many} ports / with {few}", verb.name);
            let checked = targets.check(&target, format!("{}, {}", node.name, one.kind.name), value, 1.5);
            let floor = table::ratio(times(floor_many, floor));
            lines.push(vec![one.kind.name.to_owned(), verb.name.to_owned(), table::ratio(value), checked, floor]);
        }
    }
    let heading = format!("{}: {many} ports on the bridge / {few}, one call, p50", node.name);
    table::print(&heading, &["port", "call", "plugin", "target", "floor"], &lines);
}

fn place(node: &Node, row: &Row) -> String {
    format!("{}, {}, {} ports, {} at once", node.name, row.kind.name, row.ports, row.at_once)
}
