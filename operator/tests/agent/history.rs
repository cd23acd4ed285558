//! Changes that fail half way: what the history of the node says of them, and of how they ended.

use crate::node::{Node, network, until};
use crate::running_agent::RunningAgent;
use crate::vpp::world::{self as vpp_world, VppWorld};
use crate::world::World;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use usnet_crds::{Mtu, NodeNetwork};
use usnet_operator::history::{self, Change, Outcome, Why};
use usnet_test_vpp::{Fault, Kind};

fn changes(node: &Node) -> Vec<Change> {
    history::read(&node.roots.history_file()).unwrap()
}

/// The history of one attachment, once it is over.
fn changes_of_port(node: &Node, attachment: &str) -> Vec<Change> {
    until(&format!("the history tells the end of {attachment}"), || {
        let changes: Vec<_> =
            changes(node).into_iter().filter(|change| change.attachment.as_deref() == Some(attachment)).collect();
        let is_over = |change: &Change| matches!(change.outcome, Outcome::Done | Outcome::CompletedLater);
        changes.last().is_some_and(is_over).then_some(changes)
    })
}

fn refuse(world: &VppWorld, nth: u64) {
    world.vpp.simulator().unwrap().fault(Fault::Fail { nth, retval: -1 });
}

#[test]
fn whichever_message_of_a_port_vpp_refuses_the_port_is_taken_back_and_made_on_a_later_pass() {
    let world = VppWorld::start(Kind::Simulator, &[]).unwrap();
    let green = NodeNetwork { generation: 7, ..vpp_world::network("green") };
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, std::slice::from_ref(&green));
    world.wait_until_programmed("green");
    let (before, interfaces) = (world.changes().len(), world.interfaces().len());
    let first = world.pod("c0", &green);
    world.write(&first);
    world.wait_for_port(&first);
    assert_eq!(changes_of_port(&world, "c0.net1").len(), 1);
    let messages = world.changes().split_off(before);
    for (nth, message) in (1..).zip(&messages) {
        refuse(&world, nth);
        let pod = world.pod(&format!("c{nth}"), &green);
        world.write(&pod);
        world.wait_for_port(&pod);
        let told = changes_of_port(&world, &pod.id.to_string());
        // What VPP answers to this one says nothing: what came of it is read.
        if message.contains("l2_interface_efp_filter") {
            assert_eq!(told.len(), 1, "{told:#?}");
            continue;
        }
        let [failed, last] = told.as_slice() else { panic!("{message}: {told:#?}") };
        assert!(matches!(failed.outcome, Outcome::RolledBack { .. }), "{message}: {failed:#?}");
        assert_eq!((failed.generation, last.generation), (Some(7), Some(7)), "{message}");
        assert_eq!((&last.why, &last.outcome), (&Why::Retry, &Outcome::CompletedLater), "{message}");
        assert_eq!((&last.operation, last.network.as_deref()), (&failed.operation, Some("green")), "{message}");
        assert!(last.milliseconds >= failed.milliseconds, "{message}: the first try is part of it");
    }
    assert!(messages.len() > 6, "{messages:#?}");
    assert_eq!(world.ports().len(), messages.len() + 1);
    assert_eq!(world.interfaces().len(), messages.len() + 1 + interfaces, "something was left");
}

/// The last message of the port is refused, and the first one that would take it back.
#[test]
fn a_port_that_could_not_be_taken_back_is_not_said_to_be() {
    let world = VppWorld::start(Kind::Simulator, &[]).unwrap();
    let green = NodeNetwork { generation: 7, ..vpp_world::network("green") };
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, std::slice::from_ref(&green));
    world.wait_until_programmed("green");
    let before = world.changes().len();
    let first = world.pod("c0", &green);
    world.write(&first);
    world.wait_for_port(&first);
    let messages = u64::try_from(world.changes().len() - before).unwrap();
    refuse(&world, messages);
    refuse(&world, messages + 1);
    let pod = world.pod("c1", &green);
    world.write(&pod);
    world.wait_for_port(&pod);
    let told = changes_of_port(&world, "c1.net1");
    eprintln!("{told:#?}");
    assert!(matches!(told[0].outcome, Outcome::Failed { .. }), "{told:#?}");
    let [_, rest, last] = told.as_slice() else { panic!("{told:#?}") };
    assert!(rest.operation.starts_with("set MTU"), "{rest:#?}");
    assert_eq!((&rest.why, &rest.outcome, rest.generation), (&Why::Retry, &Outcome::Done, Some(7)));
    assert_eq!((&last.operation, &last.outcome), (&told[0].operation, &Outcome::CompletedLater));
}

/// Lets the database take no MTU beyond this one: a transaction that asks for one is refused as a whole.
fn limit_mtu(world: &World, most: u16) {
    let server = format!("unix:{}", world.ovs.socket().display());
    let client = |arguments: &[&str]| {
        let output = Command::new("ovsdb-client").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let mut schema: Value = serde_json::from_slice(&client(&["get-schema", &server, "Open_vSwitch"])).unwrap();
    let mtu = schema.pointer_mut("/tables/Interface/columns/mtu_request/type/key").unwrap();
    mtu.as_object_mut().unwrap().insert("maxInteger".to_owned(), json!(most));
    let file = world.ovs.folder().join("limited.ovsschema");
    fs::write(&file, schema.to_string()).unwrap();
    client(&["convert", &server, &file.display().to_string()]);
}

fn with_mtu(name: &str, generation: i64, mtu: i64) -> NodeNetwork {
    let mut network = NodeNetwork { generation, ..network(name) };
    network.bridge.mtu = Mtu::try_from(mtu).unwrap();
    network
}

fn wait_for_change(node: &Node, what: &str, is_it: impl Fn(&Change) -> bool) -> Change {
    until(what, || changes(node).into_iter().find(&is_it))
}

#[test]
fn a_transaction_that_is_refused_as_a_whole_was_rolled_back_and_the_next_generation_completes_it() {
    let world = World::start();
    limit_mtu(&world, 2000);
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[with_mtu("blue", 3, 9000), with_mtu("green", 1, 1500)]);
    world.wait_until_programmed("green");
    let is_blue = |change: &Change| change.network.as_deref() == Some("blue");
    let refused = wait_for_change(&world, "blue is refused", is_blue);
    let Outcome::RolledBack { message } = &refused.outcome else { panic!("{refused:#?}") };
    assert!(message.contains("constraint violation") && message.contains("9000"), "{message}");
    assert_eq!((refused.operation.as_str(), refused.generation), ("create bridge br-blue for network blue", Some(3)));
    assert_eq!(world.bridges(), ["br-green"]);

    agent.tell(2, &[with_mtu("blue", 4, 1400), with_mtu("green", 1, 1500)]);
    world.wait_until_programmed("blue");
    let last = wait_for_change(&world, "blue is completed", |change| is_blue(change) && change.generation == Some(4));
    assert_eq!(
        (&last.operation, &last.why, &last.outcome),
        (&refused.operation, &Why::Retry, &Outcome::CompletedLater)
    );
    assert_eq!(changes(&world).iter().filter(|change| is_blue(change)).count(), 2, "the tries between are not told");
}

#[test]
fn a_network_that_is_given_up_before_it_was_complete_is_rolled_back_and_the_history_says_so() {
    let mut world = World::start();
    let agent = RunningAgent::start(&world.roots);
    agent.tell(1, &[network("green")]);
    world.wait_until_programmed("green");
    world.ovs.kill_vswitchd().unwrap();
    agent.tell(2, &[network("green"), network("blue")]);
    let is_blue = |change: &Change| change.network.as_deref() == Some("blue");
    let failed = wait_for_change(&world, "blue fails", is_blue);
    assert!(matches!(failed.outcome, Outcome::Failed { .. }), "{failed:#?}");
    assert_eq!(failed.generation, Some(1));
    assert_eq!(world.vsctl("--no-wait list-br"), "br-blue\nbr-green", "the database has the half of it");

    agent.tell(3, &[network("green")]);
    world.ovs.start_vswitchd().unwrap();
    let is_end = |change: &Change| is_blue(change) && matches!(change.outcome, Outcome::RolledBack { .. });
    let end = wait_for_change(&world, "blue is rolled back", is_end);
    assert_eq!((&end.operation, &end.why, end.generation), (&failed.operation, &Why::NewSpec, None));
    assert_eq!(world.bridges(), ["br-green"]);
    let told: Vec<_> = changes(&world).into_iter().filter(is_blue).map(|change| change.operation).collect();
    assert_eq!(told, [&failed.operation, "remove bridge br-blue of network blue", &failed.operation]);
}
