//! ADD and DEL while another program writes to the disk of the records and waits for it.

use super::calls::{Taken, turn};
use super::rounds;
use crate::calls::floor::Floor;
use crate::calls::kind::PortKind;
use crate::calls::plugin::Plugin;
use crate::host::busy_disk;
use crate::host::node::Node;
use crate::host::programs::Programs;
use crate::report::table;

pub(crate) fn run(programs: &Programs, node: &Node, kind: &PortKind) {
    eprintln!("{}: busy disk", node.name);
    node.program(&kind.port);
    let (plugin, floor) = (Plugin::new(programs, node, None), Floor::new(node, kind));
    let measure = || {
        let (mut ours, mut least) = (Taken::default(), Taken::default());
        for _ in 0..rounds(1) {
            ours.extend(turn(node, &plugin, 1));
            least.extend(turn(node, &floor, 1));
        }
        (ours, least)
    };
    let idle = measure();
    let busy = busy_disk::beside(&node.roots.state, measure);
    plugin.print_failures(&node.name);
    let row = |disk: &str, (ours, least): &(Taken, Taken)| {
        let mut cells = vec![disk.to_owned()];
        for (ours, least) in [(&ours.add, &least.add), (&ours.del, &least.del)] {
            cells.extend([table::p50(ours), table::p99(ours), table::p50(least)]);
        }
        cells
    };
    let heading = format!("{}: {} and a busy disk, in ms", node.name, kind.name);
    let columns = ["disk", "ADD p50", "ADD p99", "floor p50", "DEL p50", "DEL p99", "floor p50"];
    table::print(&heading, &columns, &[row("idle", &idle), row("busy", &busy)]);
}
