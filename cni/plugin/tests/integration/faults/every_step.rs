//! The plugin is killed before any of its system calls: nothing that it did by then is lost, and
//! the next DEL or ADD cleans up.

use super::interrupted::{assert_all_gone, port_types_of};
use crate::support::engine::{on_open_vswitch, on_the_simulator};
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, on_a_node, on_a_vpp_node};
use usnet_test_vpp::Kind;

on_open_vswitch!(a_call_that_is_killed_before_a_system_call_is_cleaned_up);
on_the_simulator!(a_call_that_is_killed_before_a_system_call_is_cleaned_up);

/// Of so many system calls the short form takes one. It has no divisor in common with how often
/// steps repeat.
const STRIDE: usize = 11;

fn a_call_that_is_killed_before_a_system_call_is_cleaned_up(node: &mut TestNode) {
    kill_before_each(node, STRIDE);
}

#[test]
#[ignore = "long: some minutes; `make nightly` runs it"]
fn a_call_is_killed_before_each_system_call_with_open_vswitch() {
    on_a_node(|node| kill_before_each(node, 1));
}

#[test]
#[ignore = "long: some minutes; `make nightly` runs it"]
fn a_call_is_killed_before_each_system_call_with_vpp() {
    on_a_vpp_node(Kind::Simulator, |node| kill_before_each(node, 1));
}

/// Kills ADD and DEL of each port type before one of `stride` system calls each.
fn kill_before_each(node: &TestNode, stride: usize) {
    let mut kills = 0;
    for port in port_types_of(node) {
        node.program_network_with(NETWORK, &port, None);
        for verb in ["ADD", "DEL"] {
            kills += (0..).step_by(stride).take_while(|number| is_cleaned_up(node, verb, *number)).count();
        }
    }
    println!("{kills} kills");
}

/// Kills a call before the system call with this number. Returns whether it has so many.
fn is_cleaned_up(node: &TestNode, verb: &'static str, number: usize) -> bool {
    let pod = node.pod(&format!("{verb}{number}"));
    if verb == "DEL" {
        node.add(&pod, "net1").result();
    }
    let is_killed = node.kill_before(verb, &pod, "net1", number);
    // The runtime may repeat ADD as well, but for an interface that is attached.
    if is_killed && number % 2 == 1 {
        add_again(node, &pod);
    }
    node.del(&pod, "net1").assert_done();
    assert_all_gone(node);
    is_killed
}

fn add_again(node: &TestNode, pod: &Pod) {
    let added = node.add(pod, "net1").result();
    assert_eq!(added["cniVersion"], "1.1.0", "{added}");
    assert_eq!(node.ports(NETWORK).len(), 1);
}
