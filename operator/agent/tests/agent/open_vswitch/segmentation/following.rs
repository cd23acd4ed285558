//! Pods leave checksums to a switch that finishes packets, and only to that.

use super::scene::Scene;
use crate::support::node::until;

/// Also: a switch that is configured for it, and does not do it before it starts again.
#[test]
fn pods_leave_checksums_to_a_switch_that_finishes_packets_and_only_to_that() {
    let mut scene = Scene::start("false");
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left());
    let whole = scene.packets_of(20_000_000);

    // While it is set and before the switch starts again kernel ports of Open vSwitch 3.1 pass
    // nothing.
    scene.set("true");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(!scene.are_left(), "the switch takes no unfinished packets from its devices yet");

    scene.restart();
    scene.wait_until_allowed(true);
    until("the switch reads the devices", || {
        scene.follow();
        scene.are_left().then_some(())
    });
    let left = scene.packets_of(20_000_000);
    assert!(left * 4 < whole, "{left} packets that the switch finishes, and {whole} whole ones");

    // Before the switch starts without it, not when packets are lost.
    scene.set("false");
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left());
    assert!(scene.transfer(1_000_000).is_some());
    scene.restart();
    assert!(scene.transfer(1_000_000).is_some());
}

/// As when the setting was changed while neither the agent nor the process beside it ran.
#[test]
fn a_switch_that_started_without_it_gets_whole_packets_again() {
    let mut scene = Scene::start("true");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(scene.are_left() && scene.transfer(1_000_000).is_some());
    // A killed switch that starts again as it was: nothing has to change.
    scene.restart();
    assert!(scene.are_left() && scene.transfer(1_000_000).is_some());

    scene.testbed.ovs.kill_vswitchd().unwrap();
    scene.agent.wait_for_connection("NotActing");
    scene.follow();
    assert!(scene.are_left(), "while there is no switch nothing is known");
    scene.set("false");
    scene.testbed.ovs.start_vswitchd().unwrap();
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left() && scene.transfer(1_000_000).is_some());
}

/// Open vSwitch 3.1 drops what a tunnel or the program of a pod would have to finish.
#[test]
fn a_port_that_cannot_finish_packets_ends_it_for_the_bridge() {
    let scene = Scene::start("true");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(scene.are_left());
    let tunnel = "set Interface t1 type=vxlan options:remote_ip=127.0.0.2 options:key=7";
    scene.testbed.vsctl(&format!("--no-wait add-port br-blue t1 -- {tunnel}"));
    scene.wait_until_allowed(false);
    scene.follow();
    assert!(!scene.are_left() && scene.transfer(1_000_000).is_some());
    scene.testbed.vsctl("--no-wait del-port t1");
    scene.wait_until_allowed(true);
    scene.follow();
    assert!(scene.are_left());
}
