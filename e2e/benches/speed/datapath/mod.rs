//! What guards and policies cost the packets of programs: two vhost-user ports of Open vSwitch,
//! between which a DPDK program sends frames back and forth as fast as they come. Then
//! [`flooding`] and [`kernel_ports`].

mod flooding;
mod kernel_ports;
mod mode;
mod program;
mod vpp;

use crate::report::{Targets, table};
use mode::Mode;
use program::{Program, Rings};
use std::thread;
use std::time::Duration;
use usnet_test_openvswitch::OpenVswitch;

/// Of each mode, in turn.
const TURNS: usize = 15;
const TURN: Duration = Duration::from_millis(700);
/// How often frames are sent, if none passes.
const ATTEMPTS: usize = 5;
/// After a mode has changed: the datapath gets new flows, and frames that were dropped
/// meanwhile are sent again.
const SETTLE: Duration = Duration::from_millis(400);

const BRIDGE: &str = "br-datapath";

/// The two ports with the addresses of their pods.
const PORTS: [Port; 2] = [
    Port { name: "one", number: 1, mac: "02:00:00:00:09:01", address: "10.9.0.1" },
    Port { name: "two", number: 2, mac: "02:00:00:00:09:02", address: "10.9.0.2" },
];

struct Port {
    name: &'static str,
    number: u16,
    mac: &'static str,
    address: &'static str,
}

#[derive(Clone, Copy)]
struct Sample {
    /// Millions of packets each second.
    rate: f64,
    /// Of the packet thread for each packet.
    cycles: f64,
}

pub(crate) fn run(targets: &mut Targets) {
    let switch = OpenVswitch::builder().dpdk(true).start().expect("Open vSwitch starts");
    let vsctl = |words: &str| switch.vsctl(&words.split(' ').collect::<Vec<_>>()).expect("the database answers");
    // The other core is that of the program.
    vsctl("set Open_vSwitch . other_config:pmd-maxsleep=0 other_config:pmd-cpu-mask=0x1");
    vsctl(&format!("add-br {BRIDGE} -- set Bridge {BRIDGE} datapath_type=netdev"));
    for Port { name, number, .. } in PORTS {
        let socket = program::socket(&switch, name);
        vsctl(&format!(
            "add-port {BRIDGE} {name} -- set Interface {name} type=dpdkvhostuserclient ofport_request={number} \
             options:vhost-server-path={}",
            socket.display()
        ));
    }
    compare_modes(&switch, targets);
    compare_rings(&switch);
    flooding::compare(&switch, targets);
    drop(switch);
    kernel_ports::run(targets);
    vpp::run(targets);
}

fn turns() -> usize {
    if is_short() { 1 } else { TURNS }
}

fn compare_modes(switch: &OpenVswitch, targets: &mut Targets) {
    let mut program = Program::start(switch, Rings::Split);
    let mut samples = Mode::ALL.map(|mode| (mode, Vec::new()));
    for turn in 0..turns() {
        eprintln!("guards and policies: turn {turn}");
        for (mode, samples) in &mut samples {
            mode.begin(switch);
            samples.push(measure(switch, &mut program, mode.bursts()));
        }
    }
    print(&samples, targets);
}

/// Which rings the program asks for, which the switch takes as they are.
fn compare_rings(switch: &OpenVswitch) {
    Mode::Off.begin(switch);
    let mut samples = [Rings::Split, Rings::Packed].map(|rings| (rings, Vec::new()));
    for turn in 0..turns() {
        eprintln!("rings: turn {turn}");
        for (rings, samples) in &mut samples {
            let mut program = Program::start(switch, *rings);
            samples.push(measure(switch, &mut program, Mode::Off.bursts()));
        }
    }
    let [(_, split), (_, packed)] = &samples;
    let of = |samples: &[Sample], value: fn(&Sample) -> f64| middle(samples.iter().map(value).collect());
    let rate = |samples| table::ratio(of(samples, |sample| sample.rate));
    let cycles = |samples| table::number(of(samples, |sample| sample.cycles));
    let ratio = middle(packed.iter().zip(split).map(|(one, other)| one.rate / other.rate).collect());
    let rows = [
        vec!["split, which DPDK has by default".to_owned(), rate(split), cycles(split), String::new()],
        vec!["packed (`packed_vq=1`)".to_owned(), rate(packed), cycles(packed), table::ratio(ratio)],
    ];
    let columns = ["rings", "million packets each second", "cycles for each", "packets in a turn, ratio"];
    table::print("Open vSwitch: rings of the programs of two vhost-user ports, medians", &columns, &rows);
}

/// `USNET_SPEED=short` tries whether everything works; its figures say nothing.
fn is_short() -> bool {
    std::env::var_os("USNET_SPEED").is_some_and(|speed| speed == "short")
}

/// Frames that are on their way while a mode changes may be dropped, which are all of them at
/// times: then they are sent once more.
fn measure(switch: &OpenVswitch, program: &mut Program, bursts: u32) -> Sample {
    let mut attempts = (0..ATTEMPTS).filter_map(|_| {
        program.send(bursts);
        window(switch)
    });
    attempts.next().expect("packets pass")
}

/// `None` if no packet passes.
fn window(switch: &OpenVswitch) -> Option<Sample> {
    thread::sleep(SETTLE);
    switch.appctl(&["dpif-netdev/pmd-stats-clear"]).expect("the switch answers");
    thread::sleep(TURN);
    let text = switch.appctl(&["dpif-netdev/pmd-stats-show"]).expect("the switch answers");
    let number = |name: &str| {
        let found = text.split_once(name).and_then(|(_, rest)| rest.split_whitespace().next());
        found.and_then(|number| number.parse::<f64>().ok())
    };
    let (packets, cycles) = (number("packets received:")?, number("avg processing cycles per packet:")?);
    Some(Sample { rate: packets / TURN.as_secs_f64() / 1e6, cycles })
}

fn print(samples: &[(Mode, Vec<Sample>)], targets: &mut Targets) {
    let (_, without) = &samples[0];
    let row = |(mode, samples): &(Mode, Vec<Sample>)| {
        let of = |value: fn(&Sample) -> f64| middle(samples.iter().map(value).collect());
        let ratio = middle(samples.iter().zip(without).map(|(one, other)| one.cycles / other.cycles).collect());
        let checked = mode.at_most().map_or_else(String::new, |at_most| {
            let target = format!("cycles for each packet with {} / without", mode.name());
            targets.check(&target, "Open vSwitch, vhost-user".to_owned(), ratio, at_most)
        });
        vec![
            mode.name().to_owned(),
            table::ratio(of(|sample| sample.rate)),
            table::number(of(|sample| sample.cycles)),
            table::ratio(ratio),
            checked,
        ]
    };
    let rows: Vec<_> = samples.iter().map(row).collect();
    let columns = ["", "million packets each second", "cycles for each", "ratio in a turn", "target"];
    table::print("Open vSwitch: guards and policies between two vhost-user ports, medians", &columns, &rows);
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
