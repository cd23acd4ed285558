//! The calls of a controller for hot plug, which a daemon makes that may be in a container.

use crate::support::engine::on_each_engine;
use crate::support::{NETWORK, TestNode, configuration, on_a_node, run};
use std::process::Command;

on_each_engine! {
    a_rolled_back_add_of_another_network_leaves_the_interface_that_has_the_name,
}

/// The controller calls DEL for an interface that it could not attach.
fn a_rolled_back_add_of_another_network_leaves_the_interface_that_has_the_name(node: &mut TestNode) {
    node.program_network("green", None);
    let pod = node.pod("p");
    let attached = node.add(&pod, "net1").result();
    let refused = node.call("ADD", &pod, "net1", &configuration("green")).message(103);
    assert!(refused.contains("with other parameters (network"), "{refused}");

    let rolled_back = node.call("DEL", &pod, "net1", &configuration("green"));
    assert!(rolled_back.output.status.success(), "{rolled_back:?}");
    let note = rolled_back.stderr();
    assert!(note.contains("net1") && note.contains("\"green\"") && note.contains("stays attached"), "{note}");
    assert_eq!(node.add(&pod, "net1").result(), attached, "ADD compares record, port and files");
    node.del(&pod, "net1").assert_done();
    node.assert_clean();
}

/// Calls the plugin in a mount namespace that gets the node's mounts and keeps its own, as a
/// container with `mountPropagation: HostToContainer`.
fn in_a_container(command: &Command, input: &[u8]) -> crate::support::output::Output {
    let mut inside = Command::new("/usr/bin/unshare");
    inside.args(["--mount", "--propagation=slave", "--"]).arg(command.get_program());
    inside.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run(inside, input)
}

#[test]
fn a_caller_whose_mounts_the_engine_does_not_see_is_refused() {
    on_a_node(|node| {
        let pod = node.pod("p");
        let (command, input) = (|verb| node.command(verb, &pod, "net1", &[]), configuration(NETWORK).to_string());
        let refused = in_a_container(&command("ADD"), input.as_bytes()).message(5);
        assert!(refused.contains("mountPropagation: Bidirectional"), "{refused}");
        node.assert_clean();

        // Where the pod's folder is mounted already, nothing is mounted.
        node.add(&pod, "net0").result();
        in_a_container(&command("ADD"), input.as_bytes()).result();
        assert_eq!(node.engine.sockets(&node.bridge()).len(), 2);
        in_a_container(&command("DEL"), input.as_bytes()).assert_done();
        node.del(&pod, "net0").assert_done();
        node.assert_clean();
    });
}
