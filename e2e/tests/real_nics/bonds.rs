//! Bonds of two NICs with LACP: how long a stream of pings stops while cables are cut or lose
//! frames. In the mode ActiveBackup each node would choose a member of its own: there is no switch
//! between them.

use crate::bed::{Bed, run};
use crate::pod::Pod;
use crate::report;
use crate::setup::{Driver, Engine, Setup};
use crate::traffic::await_reachable;
use serde_json::json;
use std::fs;
use usnet_e2e::machines::model::NicModel;

/// The members: all NICs of a node.
const MEMBERS: [&str; 2] = ["0000:01:00.0", "0000:02:00.0"];
/// Seconds between two pings.
const INTERVAL: f64 = 0.1;
/// A stream stops for at most these seconds when a link is down, and when the switch hears nothing
/// by LACP for its timeout of 3 s; both with what a busy machine adds.
const LINK_DOWN: f64 = 3.0;
const SILENCE: f64 = 8.0;

#[derive(Clone, Copy)]
enum Fault {
    /// Both ends see that the link is down.
    Cut,
    /// One end receives nothing, and its link is up.
    Silence,
}

#[test]
fn a_bond_of_dpdk_with_lacp_carries_while_a_cable_is_cut_or_silent() {
    faults(Driver::Dpdk);
}

#[test]
fn a_bond_of_packet_sockets_with_lacp_carries_while_a_cable_is_cut_or_silent() {
    faults(Driver::AfPacket);
}

fn faults(driver: Driver) {
    let setup = Setup::new(Engine::Ovs, driver, NicModel::E1000e);
    let Some(bed) = Bed::start(setup) else { return };
    bed.start_agents();
    let before = bed.on_both(Bed::nics);
    let members = MEMBERS.map(|address| json!({"type": "PciAddress", "pciAddress": address}));
    let manifests = setup.manifests(&json!({"type": "Bond", "bond": {"mode": "LACP", "members": members}}));
    bed.on_both(|machine| Bed::apply(machine, &manifests));
    bed.on_both(|machine| {
        Bed::await_uplink(machine, "Programmed", "");
        Bed::await_networks(machine);
    });
    let pods = bed.pair.both().map(|machine| Pod::attach(&bed, machine, "tagged", 1));
    await_reachable(&pods[0], pods[1].ipv4);
    for fault in [Fault::Cut, Fault::Silence] {
        let longest = longest_gap(&pods, || {
            for nic in 0..MEMBERS.len() {
                cause(&bed, fault, nic, true);
                let report = bed.on_both(|machine| Bed::await_uplink(machine, "Programmed", "BondDegraded").0);
                println!("{}", report[0]["message"]);
                cause(&bed, fault, nic, false);
                bed.on_both(|machine| Bed::await_uplink(machine, "Programmed", ""));
            }
        });
        let (what, limit) = match fault {
            Fault::Cut => ("a cable is cut", LINK_DOWN),
            Fault::Silence => ("a cable loses all frames one way", SILENCE),
        };
        let cells = vec![setup.to_string(), what.to_owned(), format!("{longest:.1} s")];
        report::row("Bonds of two NICs with LACP", &["set-up", "fault of each member", "longest gap"], cells);
        assert!(longest < limit, "{what}: {longest} s");
    }
    pods.iter().for_each(|pod| pod.detach(&bed, "tagged"));
    bed.on_both(|machine| {
        Bed::apply(machine, "");
        Bed::await_no_uplink(machine);
    });
    assert_eq!(bed.on_both(Bed::nics), before, "all NICs are as they were");
}

fn cause(bed: &Bed, fault: Fault, nic: usize, is_on: bool) {
    match fault {
        Fault::Cut => bed.pair.set_cable(nic, !is_on).unwrap(),
        Fault::Silence => bed.pair.left.set_silent_loss(nic, is_on).unwrap(),
    }
}

/// The longest time without an answer, in seconds, while something happens. Its resolution is the
/// interval of the pings.
fn longest_gap(pods: &[Pod<'_>; 2], happens: impl FnOnce()) -> f64 {
    let [from, to] = pods;
    let ping =
        from.command(&format!("busybox ping -i {INTERVAL} {} >/machine/pings 2>&1 & echo $! >/run/ping.pid", to.ipv4));
    run(from.machine, ping.trim_start_matches("exec "));
    happens();
    await_reachable(from, to.ipv4);
    run(from.machine, "kill $(cat /run/ping.pid)");
    let pings = fs::read_to_string(from.machine.share().join("pings")).unwrap();
    let numbers = pings.lines().filter_map(|line| line.split_once("seq=")?.1.split(' ').next()?.parse::<f64>().ok());
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    assert!(numbers.len() > 10, "{pings}");
    let gaps = numbers.windows(2).map(|pair| (pair[1] - pair[0] - 1.0) * INTERVAL);
    gaps.fold(0.0, f64::max)
}
