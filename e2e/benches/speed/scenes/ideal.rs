//! ADD and DEL beside the least that a program with the same promises can do, one and fifty at
//! once.

use super::calls::{Taken, turn};
use super::rounds;
use crate::calls::ideal::Ideal;
use crate::calls::kind::PortKind;
use crate::calls::plugin::Plugin;
use crate::host::node::Node;
use crate::host::programs::Programs;
use crate::report::statistics::{percentile, times};
use crate::report::{Targets, table};
use std::time::Duration;
use usnet_crds::{EngineKind, PortType};

const AT_ONCE: [usize; 2] = [1, 50];
/// What ADD and DEL may take of the ideal's time, one at a time: of their fastest quarters, which
/// other programs on the machine disturb less than the middle.
const ADD_MAX: f64 = 1.25;
const DEL_MAX: f64 = 1.6;

pub(crate) fn run(programs: &Programs, node: &Node, targets: &mut Targets) {
    let port_type = match node.engine {
        EngineKind::OpenVswitch => PortType::VhostUser,
        EngineKind::Vpp => PortType::Memif,
    };
    let kind = PortKind::of_type(node.engine, port_type);
    node.program(&kind.port);
    let rows: Vec<_> =
        AT_ONCE.into_iter().flat_map(|at_once| measure(programs, node, &kind, at_once, targets)).collect();
    let heading = format!("{}: {}, beside the ideal, min / p25 / p50 in ms", node.name, kind.name);
    table::print(&heading, &["verb", "at once", "usnet", "ideal", "ratio of p25", "target"], &rows);
}

fn measure(
    programs: &Programs,
    node: &Node,
    kind: &PortKind,
    at_once: usize,
    targets: &mut Targets,
) -> Vec<Vec<String>> {
    eprintln!("{}: {}, beside the ideal, {at_once} at once", node.name, kind.name);
    let (plugin, ideal) = (Plugin::new(programs, node, None), Ideal::new(programs, node));
    let (mut own, mut least) = (Taken::default(), Taken::default());
    turn(node, &plugin, 1);
    turn(node, &ideal, 1);
    for _ in 0..2 * rounds(at_once) {
        own.extend(turn(node, &plugin, at_once));
        least.extend(turn(node, &ideal, at_once));
    }
    plugin.print_failures(&format!("{}, {at_once} at once", node.name));
    let failed = plugin.failures();
    if at_once > 1 {
        targets.check("calls that fail, fifty at once", node.name.clone(), failed as f64, 0.0);
    }
    let verbs = [("ADD", &own.add, &least.add, ADD_MAX), ("DEL", &own.del, &least.del, DEL_MAX)];
    let row = |(verb, own, least, most): (&str, &Vec<Duration>, &Vec<Duration>, f64)| {
        let ratio = times(percentile(own, 25), percentile(least, 25));
        let place = format!("{}, {}", node.name, kind.name);
        let checked = if at_once == 1 {
            targets.check(&format!("{verb} / ideal"), place, ratio, most)
        } else {
            table::NONE.to_owned()
        };
        let of = |taken: &Vec<Duration>| [0, 25, 50].map(|share| table::share(taken, share)).join(" / ");
        vec![verb.to_owned(), at_once.to_string(), of(own), of(least), table::ratio(ratio), checked]
    };
    verbs.into_iter().map(row).collect()
}
