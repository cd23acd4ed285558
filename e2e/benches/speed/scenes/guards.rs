//! What guards and policies add to ADD: the plugin writes the flows or tables of the port before it
//! answers, or leaves it closed for the agent to open it.

use super::calls::{Taken, turn};
use super::rounds;
use crate::calls::kind::PortKind;
use crate::calls::plugin::Plugin;
use crate::host::node::Node;
use crate::host::programs::Programs;
use crate::report::statistics::{median, milliseconds};
use crate::report::{Targets, table};
use serde_json::json;
use usnet_crds::{AntiSpoofing, Policies, Port};
use usnet_dataplane::model::policy_zone::PolicyZone;

/// The most that each may add, in milliseconds.
const ADDED_MAX: f64 = 2.0;

/// What is checked of a port, and its name in the table.
type Check = (AntiSpoofing, Option<PolicyZone>);

const OFF: Check = (AntiSpoofing::Off, None);
const CHECKS: [(&str, Check); 3] = [
    ("antiSpoofing: MAC", (AntiSpoofing::Mac, None)),
    ("antiSpoofing: Address", (AntiSpoofing::Address, None)),
    ("policies", (AntiSpoofing::Address, Some(PolicyZone::FIRST))),
];

pub(crate) fn run(programs: &Programs, node: &Node, kinds: &[PortKind], targets: &mut Targets) {
    let rows: Vec<_> = kinds.iter().flat_map(|kind| measure(programs, node, kind, targets)).collect();
    node.check_bridge(false, None);
    let heading = format!("{}: guards and policies, p50 in ms", node.name);
    table::print(&heading, &["port", "check", "ADD", "ADD without", "adds", "target"], &rows);
}

fn measure(programs: &Programs, node: &Node, kind: &PortKind, targets: &mut Targets) -> Vec<Vec<String>> {
    eprintln!("{}: {}, guards and policies", node.name, kind.name);
    let addresses = json!({"ips": ["10.56.0.5/24", "fd56::5/64"]});
    let plugin = Plugin::new(programs, node, Some(("runtimeConfig", addresses)));
    let mut off = Taken::default();
    let mut others = CHECKS.map(|(name, check)| (name, check, Taken::default()));
    for round in 0..=rounds(1) {
        let checks = others.iter_mut().map(|(_, check, taken)| (*check, taken)).chain([(OFF, &mut off)]);
        for ((anti_spoofing, zone), taken) in checks {
            // Ports of a bridge that is not guarded forward as well.
            node.check_bridge(true, zone);
            let policies = if zone.is_some() { Policies::Enabled } else { Policies::Disabled };
            node.program_checked(&Port { anti_spoofing, ..kind.port.clone() }, policies);
            let one = turn(node, &plugin, 1);
            // The first round fills caches.
            if round > 0 {
                taken.extend(one);
            }
        }
    }
    plugin.print_failures(&node.name);
    let row = |(name, _, taken): &(&str, Check, Taken)| {
        let added = milliseconds(median(&taken.add)) - milliseconds(median(&off.add));
        let what = format!("{name} adds to ADD, in ms");
        let checked = targets.check(&what, format!("{}, {}", node.name, kind.name), added, ADDED_MAX);
        let (name, port) = ((*name).to_owned(), kind.name.to_owned());
        vec![port, name, table::p50(&taken.add), table::p50(&off.add), table::ratio(added), checked]
    };
    others.iter().map(row).collect()
}
