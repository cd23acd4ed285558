//! What a guard adds to ADD: the plugin writes the flows of the port before it answers.

use super::calls::{Taken, turn};
use super::rounds;
use crate::calls::kind::PortKind;
use crate::calls::plugin::Plugin;
use crate::host::node::Node;
use crate::host::programs::Programs;
use crate::report::statistics::{median, milliseconds};
use crate::report::{Targets, table};
use serde_json::json;
use usnet_crds::{AntiSpoofing, Port};

/// The most that it may add, in milliseconds.
const ADDED_MAX: f64 = 2.0;

pub(crate) fn run(programs: &Programs, node: &Node, kinds: &[PortKind], targets: &mut Targets) {
    node.guard_bridge(true);
    let rows: Vec<_> = kinds.iter().map(|kind| measure(programs, node, kind, targets)).collect();
    node.guard_bridge(false);
    let heading = format!("{}: antiSpoofing, p50 in ms", node.name);
    let columns = ["port", "ADD with Address", "ADD with MAC", "ADD with Off", "Address adds", "target"];
    table::print(&heading, &columns, &rows);
}

fn measure(programs: &Programs, node: &Node, kind: &PortKind, targets: &mut Targets) -> Vec<String> {
    eprintln!("{}: {}, antiSpoofing", node.name, kind.name);
    let addresses = json!({"ips": ["10.56.0.5/24", "fd56::5/64"]});
    let plugin = Plugin::new(programs, node, Some(("runtimeConfig", addresses)));
    let mut taken = [AntiSpoofing::Address, AntiSpoofing::Mac, AntiSpoofing::Off].map(|it| (it, Taken::default()));
    for round in 0..=rounds(1) {
        for (anti_spoofing, taken) in &mut taken {
            node.program(&Port { anti_spoofing: *anti_spoofing, ..kind.port.clone() });
            let one = turn(node, &plugin, 1);
            // The first round fills caches.
            if round > 0 {
                taken.extend(one);
            }
        }
    }
    plugin.print_failures(&node.name);
    let [(_, address), (_, mac), (_, off)] = &taken;
    let added = milliseconds(median(&address.add)) - milliseconds(median(&off.add));
    let checked = targets.check(
        "antiSpoofing Address adds to ADD, in ms",
        format!("{}, {}", node.name, kind.name),
        added,
        ADDED_MAX,
    );
    let mut cells = vec![kind.name.to_owned()];
    cells.extend([address, mac, off].map(|taken| table::p50(&taken.add)));
    cells.extend([table::ratio(added), checked]);
    cells
}
