//! Virtual machines on vhost-user ports: QEMU, without KVM, in pods like KubeVirt's virt-launcher.
//!
//! `make virtual-machines` has several rounds and prints the figures; `USNET_VM_ROUNDS` sets their
//! number. `make test` has one round.

mod console;
mod engine;
mod figures;
mod image;
mod machine;
mod managed_tap;
mod migration;
mod monitor;

use crate::support::cluster::{NODES, vsctl};
use crate::support::scene::Scene;
use crate::support::vpp;
use engine::{Engine, OPEN_VSWITCH, VPP};
use figures::{Figures, seconds};
use k8s_openapi::jiff::Timestamp;
use machine::{Guest, Machine};
use monitor::Monitor;
use serde_json::json;
use std::time::Duration;

/// The guest whose pings are measured.
const LEFT: Guest = Guest { mac: "02:07:00:00:00:01", address: "10.107.0.1/24", peer: "10.107.0.2", queues: 1 };
/// The guest that migrates. Its device has more queues than the network says.
const RIGHT: Guest = Guest { mac: "02:07:00:00:00:02", address: "10.107.0.2/24", peer: "10.107.0.1", queues: 2 };

#[test]
fn guests_on_open_vswitch_outlive_their_ports_and_migrate() {
    if image::is_there("virtual machines on Open vSwitch") {
        guests_of(OPEN_VSWITCH);
    }
}

#[test]
fn guests_on_vpp_outlive_their_ports_and_migrate() {
    if vpp::moves_packets("virtual machines on VPP") && image::is_there("virtual machines on VPP") {
        guests_of(VPP);
    }
}

fn rounds() -> usize {
    std::env::var("USNET_VM_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap())
}

/// A guest on each node, on one overlay.
fn guests_of(engine: Engine) {
    let scene = Scene::new(engine.network);
    let spec = json!({
        "engine": engine.name,
        "port": {"type": "VhostUser", "volume": "hook-sidecar-sockets"},
        "topology": {"type": "Overlay", "overlay": {}},
    });
    scene.network(engine.network, &spec);
    let mut figures = Figures::default();
    let left = Machine::apply(&scene, "left", engine.network, NODES[0], LEFT, "");
    let mut right = Machine::apply(&scene, "right-0", engine.network, NODES[1], RIGHT, "");
    boot(engine, &left, &right, &mut figures);
    if engine.name == "OVS" {
        assert_eq!(rings(NODES[0]), "2", "of a guest with one pair");
        assert_eq!(rings(NODES[1]), "4", "of a guest with two pairs on a network of one");
    }
    for round in 1..=rounds() {
        restart(engine, &left, &mut figures);
        remove_port(engine, &left, &mut figures);
        for machine in [&left, &right] {
            // A guest that migrated has not booted under this QEMU.
            machine.assert_untouched(usize::from(machine.console.pod == "left" || round == 1));
        }
        right = migration::migrate(right, engine.network, &left, &format!("right-{round}"), &mut figures);
    }
    left.assert_untouched(1);
    figures.print(engine.name);
}

/// Starts both QEMUs, one of them while its engine is away. Their guests have the MAC and the MTU
/// that the plugin wrote, and reach each other in frames of the full MTU.
fn boot(engine: Engine, left: &Machine<'_>, right: &Machine<'_>, figures: &mut Figures) {
    left.await_pod();
    right.await_pod();
    engine.stop(right.node);
    right.start();
    left.start();
    right.console.await_line("waiting for connection");
    let monitor = Monitor::connect(&right.monitor_socket()).map(drop);
    assert!(monitor.is_err(), "QEMU has a monitor before its port is there");
    let served = engine.start(right.node);
    for (machine, guest) in [(left, LEFT), (right, RIGHT)] {
        let (_, line) = machine.console.await_line("guest: mac");
        let description = machine.description();
        assert_eq!(description["mac"], guest.mac);
        assert_eq!(line, format!("guest: mac {} mtu {}", guest.mac, description["mtu"]));
        let user = machine.console.await_line("starts QEMU").1;
        assert!(user.starts_with("pod: user 107 "), "{user}");
        machine.console.await_line("guest: reached");
        machine.assert_untouched(1);
    }
    figures.add("boot", seconds(left.boot_time()));
    let (booted, _) = right.console.await_line("guest: boot ");
    let after = Duration::try_from(booted.duration_since(served)).unwrap();
    figures.add("boot of a QEMU that waited for its port, after the engine serves", seconds(after));
}

/// The rings of the port of the only guest on a node.
fn rings(node: &str) -> String {
    let connected = ["--bare", "--columns=status", "find", "Interface", "type=dpdkvhostuserclient"];
    let status = vsctl(node, &connected);
    let found = status.split_whitespace().find_map(|word| word.strip_prefix("num_of_vrings="));
    found.unwrap_or_else(|| panic!("no rings in {status}")).to_owned()
}

/// Kills the engine below a guest and starts it again.
fn restart(engine: Engine, guest: &Machine<'_>, figures: &mut Figures) {
    guest.await_answers();
    let killed = Timestamp::now();
    engine.stop(guest.node);
    let served = engine.start(guest.node);
    let outage = guest.console.await_outage(killed, served);
    let after = Duration::try_from(outage.over.duration_since(served)).unwrap_or_default();
    figures.add("engine killed: outage", seconds(outage.gap));
    figures.add("engine killed: first answer after it serves again", seconds(after));
}

/// Removes a guest's port from the engine; the agent recreates it.
fn remove_port(engine: Engine, guest: &Machine<'_>, figures: &mut Figures) {
    guest.await_answers();
    let removed = Timestamp::now();
    engine.remove_ports(guest.node);
    let outage = guest.console.await_outage(removed, Timestamp::now());
    figures.add("port removed from the engine: outage", seconds(outage.gap));
}
