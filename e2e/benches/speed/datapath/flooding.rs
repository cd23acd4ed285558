//! What it costs that a bridge also floods to its own device, by which no packet is needed: usnet
//! has none of its bridges do so.

use super::{BRIDGE, Program, Rings, Sample, measure, middle, turns};
use crate::report::{Targets, table};
use std::time::Duration;
use usnet_openflow::{PortNumber, forwarding};
use usnet_test_openvswitch::OpenVswitch;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Bursts that each port sends: as many frames go round as without guards.
const BURSTS: u32 = 4;
/// Packets with it divided by those without it: 1.5 times as many.
const AT_MOST: f64 = 0.667;

/// Each frame is flooded: nothing is learned in any VLAN.
pub(super) fn compare(switch: &OpenVswitch, targets: &mut Targets) {
    switch.vsctl(&["set", "Bridge", BRIDGE, "flood_vlans=0"]).expect("the bridge changes");
    let mut program = Program::start(switch, Rings::Split);
    let mut samples = [true, false].map(|is_flooded| (is_flooded, Vec::new()));
    for turn in 0..turns() {
        eprintln!("flooded frames: turn {turn}");
        for (is_flooded, samples) in &mut samples {
            flood_to_own_device(switch, *is_flooded);
            samples.push(measure(switch, &mut program, BURSTS));
        }
    }
    flood_to_own_device(switch, true);
    switch.vsctl(&["clear", "Bridge", BRIDGE, "flood_vlans"]).expect("the bridge changes");
    print(&samples, targets);
}

fn flood_to_own_device(switch: &OpenVswitch, is_flooded: bool) {
    let socket = usnet_openflow::socket(switch.folder(), BRIDGE);
    let ports = [(PortNumber::LOCAL, is_flooded)].into();
    forwarding::set_flooding(&socket, TIMEOUT, &ports).expect("the port changes");
}

fn print(samples: &[(bool, Vec<Sample>); 2], targets: &mut Targets) {
    let [(_, with), (_, without)] = samples;
    let ratio = middle(with.iter().zip(without).map(|(with, without)| with.rate / without.rate).collect());
    let place = "Open vSwitch, vhost-user".to_owned();
    let checked = targets.check("flooded packets with the bridge's device / without", place, ratio, AT_MOST);
    let row = |name: &str, samples: &[Sample], last: [String; 2]| {
        let of = |value: fn(&Sample) -> f64| middle(samples.iter().map(value).collect());
        let rate = table::ratio(of(|sample| sample.rate));
        [vec![name.to_owned(), rate, table::number(of(|sample| sample.cycles))], last.to_vec()].concat()
    };
    let rows = [
        row("also to the bridge's device", with, [table::ratio(ratio), checked]),
        row("to ports alone, as usnet does", without, [String::new(), String::new()]),
    ];
    let columns = ["", "million packets each second", "cycles for each", "packets in a turn, ratio", "target"];
    table::print("Open vSwitch: flooded packets between two vhost-user ports, medians", &columns, &rows);
}
