//! The plugin is killed while it attaches the second network of a pod: DEL, which does not get the
//! annotation, finds all of it.

use super::{assert_clean, listing};
use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use crate::support::{TestNode, configuration, port_types};
use usnet_plugin::attachment::attach::Step;

on_each_engine! {
    del_finds_what_a_killed_add_left,
}

/// Runs these steps of ADD of the second element.
fn run_second_add_steps(node: &TestNode, pod: &Pod, steps: &[Step]) {
    let mut element = configuration("green");
    element["name"] = listing("")["name"].clone();
    let call = "eth0".parse().unwrap();
    node.run_add_steps_of(pod, "net2", &element, steps, |request| request.with_invoked_ifname(&call));
}

fn del_finds_what_a_killed_add_left(node: &mut TestNode) {
    for port in [port_types::vhost_user(), port_types::veth()] {
        node.program_network_with("green", &port, None);
        for steps in 0..=Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            node.call("ADD", &pod, "eth0", &listing("blue")).result();
            run_second_add_steps(node, &pod, &Step::ALL[..steps]);
            node.call("DEL", &pod, "eth0", &listing("")).assert_done();
            assert_clean(node, &["green"]);
        }
    }
}
