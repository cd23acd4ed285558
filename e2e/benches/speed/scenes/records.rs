//! ADD and DEL on a node with many records, against one with few, in turn on the same engine.

use super::calls::{Taken, turn};
use super::rounds;
use crate::calls::kind::PortKind;
use crate::calls::plugin::Plugin;
use crate::host::node::Node;
use crate::host::programs::Programs;
use crate::report::statistics::{median, times};
use crate::report::{Targets, table};
use serde_json::json;
use std::time::Duration;
use usnet_dataplane::attachment::{Pod, Record};
use usnet_dataplane::journal::Journal;
use usnet_dataplane::testing::record;

const MANY: usize = 10_000;
const FEW: usize = 10;

pub(crate) fn run(programs: &Programs, node: &Node, kind: &PortKind, targets: &mut Targets) {
    eprintln!("{}: {MANY} records", node.name);
    let (few, many) = (node.with_other_records(), node.with_other_records());
    for (node, count) in [(&few, FEW), (&many, MANY)] {
        node.program(&kind.port);
        fill(node, count);
    }
    // A MAC address must be unique on the network.
    let requests = [None, Some(("runtimeConfig", json!({"mac": "02:00:00:00:00:77"})))];
    let mut lines = Vec::new();
    for (request, name) in requests.into_iter().zip(["", " with a requested MAC address"]) {
        let plugins = [Plugin::new(programs, &few, request.clone()), Plugin::new(programs, &many, request)];
        let mut taken = [Taken::default(), Taken::default()];
        for round in 0..=rounds(1) {
            for (plugin, taken) in plugins.iter().zip(&mut taken) {
                let one = turn(node, plugin, 1);
                // The first round fills caches.
                if round > 0 {
                    taken.extend(one);
                }
            }
        }
        plugins.iter().for_each(|plugin| plugin.print_failures(&node.name));
        let [few, many] = &taken;
        for (verb, few, many) in [("ADD", &few.add, &many.add), ("DEL", &few.del, &many.del)] {
            lines.push(line(node, format!("{verb}{name}"), (few, many), targets));
        }
    }
    let heading = format!("{}: {} with {MANY} records / with {FEW}, p50 in ms", node.name, kind.name);
    table::print(&heading, &["call", "10 records", "10,000 records", "ratio", "target"], &lines);
}

fn line(node: &Node, call: String, (few, many): (&[Duration], &[Duration]), targets: &mut Targets) -> Vec<String> {
    let value = times(median(many), median(few));
    let place = format!("{}, {call}", node.name);
    let checked = targets.check("10,000 records / 10", place, value, 1.3);
    vec![call, table::p50(few), table::p50(many), table::ratio(value), checked]
}

/// Records of other pods, as if they had been attached.
fn fill(node: &Node, count: usize) {
    let (journal, network) = (Journal::open(&node.roots).expect("a journal"), node.network());
    for number in 0..count {
        let container = format!("{:064x}", 2_000_000 + number);
        let record = record(&container, &network);
        let uid = format!("{number:08x}-0000-4000-8000-000000000003").parse().expect("a uid");
        let [.., high, low] = number.to_be_bytes();
        let mac = format!("02:00:00:01:{high:02x}:{low:02x}");
        let pod = Pod { uid, ..record.pod.clone() };
        let record = Record { engine_socket: node.socket.clone(), pod, mac, addresses: Vec::new(), ..record };
        journal.lock(&record.id).and_then(|locked| locked.write(&record)).expect("a record");
    }
}
