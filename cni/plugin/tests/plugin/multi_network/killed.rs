//! The plugin is killed while it attaches the second network of a pod: DEL, which does not get the
//! annotation, finds all of it.

use super::{assert_clean, listing};
use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use crate::support::{TestNode, configuration, port_types};
use usnet_plugin::attachment::attach::Step;
use usnet_plugin::attachment::node::Node;
use usnet_plugin::protocol::configuration::Configuration;
use usnet_plugin::verbs::add::AddRequest;

on_each_engine! {
    del_finds_what_a_killed_add_left,
}

/// Runs the first `steps` steps of ADD of the second element.
fn run_second_add_steps(node: &TestNode, pod: &Pod, steps: usize) {
    let opened = Node::open(node.roots.clone()).unwrap();
    let environment = node.environment("ADD", pod, "net2");
    let mut element = configuration("green");
    element["name"] = listing("")["name"].clone();
    let configuration = Configuration::parse(element.to_string().as_bytes()).unwrap();
    let request =
        AddRequest::parse(&environment, &configuration).unwrap().with_invoked_ifname(&"eth0".parse().unwrap());
    let prepared = request.prepare(&opened).unwrap();
    let locked = opened.journal.lock(&environment.attachment().unwrap()).unwrap();
    let mut attachment = prepared.attachment(&request, &opened, &locked);
    for step in &Step::ALL[..steps] {
        attachment.run_step(*step).unwrap();
    }
}

fn del_finds_what_a_killed_add_left(node: &mut TestNode) {
    for port in [port_types::vhost_user(), port_types::veth()] {
        node.program_network_with("green", &port, None);
        for steps in 0..=Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            node.call("ADD", &pod, "eth0", &listing("blue")).result();
            run_second_add_steps(node, &pod, steps);
            node.call("DEL", &pod, "eth0", &listing("")).assert_done();
            assert_clean(node, &["green"]);
        }
    }
}
