//! Faults of cables and switches: what agents report, how fast, and that traffic is back.

use crate::bed::{Bed, run};
use crate::pod::Pod;
use crate::report;
use crate::setup::{Driver, Engine, NIC, Setup};
use crate::traffic::await_reachable;
use std::time::{Duration, Instant};
use usnet_e2e::machines::model::NicModel;

/// Within this time an agent reports that the cable is cut, and that it is back.
const REPORTED_WITHIN: Duration = Duration::from_secs(2);
/// A command in a busy machine may take this long.
const COMMAND: Duration = Duration::from_secs(2);

#[test]
fn a_cut_cable_of_a_nic_with_a_packet_socket_is_reported_and_carries_again() {
    cut_cable(Setup::new(Engine::Ovs, Driver::AfPacket, NicModel::E1000e));
}

#[test]
fn a_cut_cable_of_a_nic_with_dpdk_is_reported_and_carries_again() {
    cut_cable(Setup::new(Engine::Ovs, Driver::Dpdk, NicModel::E1000e));
}

#[test]
fn a_cut_cable_of_a_nic_with_vpp_is_reported_and_carries_again() {
    cut_cable(Setup::new(Engine::Vpp, Driver::AfPacket, NicModel::E1000e));
}

/// Within this time after the switch answers again, pods reach each other.
const BACK_WITHIN: Duration = Duration::from_secs(2);

#[test]
fn pods_reach_each_other_after_the_switch_of_a_nic_with_a_packet_socket_was_killed() {
    kill_switch(Setup::new(Engine::Ovs, Driver::AfPacket, NicModel::E1000e));
}

#[test]
fn pods_reach_each_other_after_the_switch_of_a_nic_with_af_xdp_was_killed() {
    kill_switch(Setup::new(Engine::Ovs, Driver::AfXdp, NicModel::Igb));
}

#[test]
fn pods_reach_each_other_after_the_switch_of_a_nic_with_dpdk_was_killed() {
    kill_switch(Setup::new(Engine::Ovs, Driver::Dpdk, NicModel::E1000e));
}

fn kill_switch(setup: Setup) {
    let Some(bed) = Bed::programmed(setup) else { return };
    let pods = bed.pair.both().map(|machine| Pod::attach(&bed, machine, "tagged", 1));
    await_reachable(&pods[0], pods[1].ipv4);
    let begun = Instant::now();
    run(&bed.pair.left, "kill -9 $(cat /run/ovs-vswitchd.pid); /machine/node vswitchd");
    let answers = begun.elapsed();
    await_reachable(&pods[0], pods[1].ipv4);
    let carries = begun.elapsed();
    let seconds = |time: Duration| format!("{:.1} s", time.as_secs_f32());
    let columns = &["set-up", "the switch answers after", "pods reach each other after"];
    report::row("Switch killed and started", columns, vec![setup.to_string(), seconds(answers), seconds(carries)]);
    assert!(carries - answers < BACK_WITHIN + COMMAND, "{answers:?} {carries:?}");
}

fn cut_cable(setup: Setup) {
    let Some(bed) = Bed::programmed(setup) else { return };
    let pods = bed.pair.both().map(|machine| Pod::attach(&bed, machine, "tagged", 1));
    await_reachable(&pods[0], pods[1].ipv4);
    let mut cells = vec![setup.to_string()];
    bed.pair.set_cable(NIC, false).unwrap();
    let cut = bed.on_both(|machine| Bed::await_uplink(machine, "Failed", "NicLost").1);
    bed.pair.set_cable(NIC, true).unwrap();
    let begun = Instant::now();
    let back = bed.on_both(|machine| Bed::await_uplink(machine, "Programmed", "").1);
    await_reachable(&pods[0], pods[1].ipv4);
    let carries = begun.elapsed();
    let longest = |times: [Duration; 2]| times.into_iter().max().unwrap();
    for time in [longest(cut), longest(back), carries] {
        cells.push(format!("{:.1} s", time.as_secs_f32()));
    }
    let columns = &["set-up", "cut: NicLost after", "back: Programmed after", "traffic after"];
    report::row("Cable cut and plugged in", columns, cells);
    assert!(longest(cut) < REPORTED_WITHIN + COMMAND, "{cut:?}");
}
