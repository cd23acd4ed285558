//! Partial failures: how the history of the node records them and their resolution.

use crate::open_vswitch::testbed::OvsTestbed;
use crate::support::node::{Node, network, until};
use crate::support::running_agent::RunningAgent;
use crate::vpp::testbed::{self as vpp_testbed, VppTestbed};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use usnet_crds::{Mtu, NodeNetwork};
use usnet_node::history_file::{self, Cause, Change, Outcome};
use usnet_test_vpp::{Fault, Kind};

fn changes(node: &Node) -> Vec<Change> {
    history_file::read(&node.paths.history_file()).unwrap()
}

/// The history of one attachment, once its port is created.
fn changes_of_port(node: &Node, attachment: &str) -> Vec<Change> {
    until(&format!("the history records the end of {attachment}"), || {
        let changes: Vec<_> =
            changes(node).into_iter().filter(|change| change.attachment.as_deref() == Some(attachment)).collect();
        let is_over = |change: &Change| matches!(change.outcome, Outcome::Done | Outcome::CompletedLater);
        changes.last().is_some_and(is_over).then_some(changes)
    })
}

fn refuse(testbed: &VppTestbed, nth: u64) {
    testbed.vpp.simulator().unwrap().fault(Fault::Fail { nth, retval: -1 });
}

#[test]
fn whichever_message_of_a_port_vpp_refuses_the_port_is_rolled_back_and_created_by_a_later_reconcile() {
    let testbed = VppTestbed::start(Kind::Simulator, &[]).unwrap();
    let green = NodeNetwork { generation: 7, ..vpp_testbed::network("green") };
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, std::slice::from_ref(&green));
    testbed.wait_until_programmed("green");
    let (before, interfaces) = (testbed.changes().len(), testbed.interfaces().len());
    let first = testbed.pod("c0", &green);
    testbed.write(&first);
    testbed.wait_for_port(&first);
    assert_eq!(changes_of_port(&testbed, "c0.net1").len(), 1);
    let messages = testbed.changes().split_off(before);
    for (nth, message) in (1..).zip(&messages) {
        refuse(&testbed, nth);
        let pod = testbed.pod(&format!("c{nth}"), &green);
        testbed.write(&pod);
        testbed.wait_for_port(&pod);
        let recorded = changes_of_port(&testbed, &pod.id.to_string());
        // VPP's reply to this message is not conclusive: its effect is read back.
        if message.contains("l2_interface_efp_filter") {
            assert_eq!(recorded.len(), 1, "{recorded:#?}");
            continue;
        }
        let [failed, last] = recorded.as_slice() else { panic!("{message}: {recorded:#?}") };
        assert!(matches!(failed.outcome, Outcome::RolledBack { .. }), "{message}: {failed:#?}");
        assert_eq!((failed.generation, last.generation), (Some(7), Some(7)), "{message}");
        assert_eq!((&last.cause, &last.outcome), (&Cause::Retry, &Outcome::CompletedLater), "{message}");
        assert_eq!((&last.operation, last.network.as_deref()), (&failed.operation, Some("green")), "{message}");
        assert!(last.milliseconds >= failed.milliseconds, "{message}: the first try is part of it");
    }
    assert!(messages.len() > 6, "{messages:#?}");
    assert_eq!(testbed.ports().len(), messages.len() + 1);
    assert_eq!(testbed.interfaces().len(), messages.len() + 1 + interfaces, "something was left");
}

/// The engine refuses the last message of the port, and the first one of its rollback.
#[test]
fn a_port_that_could_not_be_rolled_back_is_not_recorded_as_rolled_back() {
    let testbed = VppTestbed::start(Kind::Simulator, &[]).unwrap();
    let green = NodeNetwork { generation: 7, ..vpp_testbed::network("green") };
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, std::slice::from_ref(&green));
    testbed.wait_until_programmed("green");
    let before = testbed.changes().len();
    let first = testbed.pod("c0", &green);
    testbed.write(&first);
    testbed.wait_for_port(&first);
    let messages = u64::try_from(testbed.changes().len() - before).unwrap();
    refuse(&testbed, messages);
    refuse(&testbed, messages + 1);
    let pod = testbed.pod("c1", &green);
    testbed.write(&pod);
    testbed.wait_for_port(&pod);
    let recorded = changes_of_port(&testbed, "c1.net1");
    eprintln!("{recorded:#?}");
    assert!(matches!(recorded[0].outcome, Outcome::Failed { .. }), "{recorded:#?}");
    let [_, rest, last] = recorded.as_slice() else { panic!("{recorded:#?}") };
    assert!(rest.operation.starts_with("set MTU"), "{rest:#?}");
    assert_eq!((&rest.cause, &rest.outcome, rest.generation), (&Cause::Retry, &Outcome::Done, Some(7)));
    assert_eq!((&last.operation, &last.outcome), (&recorded[0].operation, &Outcome::CompletedLater));
}

/// Makes the database refuse transactions with a greater MTU as a whole.
fn limit_mtu(testbed: &OvsTestbed, most: u16) {
    let server = format!("unix:{}", testbed.ovs.socket().display());
    let client = |arguments: &[&str]| {
        let output = Command::new("ovsdb-client").args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let mut schema: Value = serde_json::from_slice(&client(&["get-schema", &server, "Open_vSwitch"])).unwrap();
    let mtu = schema.pointer_mut("/tables/Interface/columns/mtu_request/type/key").unwrap();
    mtu.as_object_mut().unwrap().insert("maxInteger".to_owned(), json!(most));
    let file = testbed.ovs.folder().join("limited.ovsschema");
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
    let testbed = OvsTestbed::start();
    limit_mtu(&testbed, 2000);
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[with_mtu("blue", 3, 9000), with_mtu("green", 1, 1500)]);
    testbed.wait_until_programmed("green");
    let is_blue = |change: &Change| change.network.as_deref() == Some("blue");
    let refused = wait_for_change(&testbed, "blue is refused", is_blue);
    let Outcome::RolledBack { message } = &refused.outcome else { panic!("{refused:#?}") };
    assert!(message.contains("constraint violation") && message.contains("9000"), "{message}");
    assert_eq!((refused.operation.as_str(), refused.generation), ("create bridge br-blue for network blue", Some(3)));
    assert_eq!(testbed.bridges(), ["br-green"]);

    agent.set_spec(2, &[with_mtu("blue", 4, 1400), with_mtu("green", 1, 1500)]);
    testbed.wait_until_programmed("blue");
    let last = wait_for_change(&testbed, "blue is completed", |change| is_blue(change) && change.generation == Some(4));
    assert_eq!(
        (&last.operation, &last.cause, &last.outcome),
        (&refused.operation, &Cause::Retry, &Outcome::CompletedLater)
    );
    assert_eq!(
        changes(&testbed).iter().filter(|change| is_blue(change)).count(),
        2,
        "the attempts in between are not recorded"
    );
}

#[test]
fn a_network_that_is_deleted_before_it_was_complete_is_rolled_back_and_the_history_says_so() {
    let testbed = OvsTestbed::start();
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("green")]);
    testbed.wait_until_programmed("green");
    // The engine hangs: to one that had ended, the agent would send no operations.
    testbed.ovs.pause_vswitchd().unwrap();
    agent.set_spec(2, &[network("green"), network("blue")]);
    let is_blue = |change: &Change| change.network.as_deref() == Some("blue");
    let failed = wait_for_change(&testbed, "blue fails", is_blue);
    assert!(matches!(failed.outcome, Outcome::Failed { .. }), "{failed:#?}");
    assert_eq!(failed.generation, Some(1));
    assert_eq!(testbed.vsctl("--no-wait list-br"), "br-blue\nbr-green", "the database has the half of it");

    agent.set_spec(3, &[network("green")]);
    testbed.ovs.resume_vswitchd().unwrap();
    let is_end = |change: &Change| is_blue(change) && matches!(change.outcome, Outcome::RolledBack { .. });
    let end = wait_for_change(&testbed, "blue is rolled back", is_end);
    assert_eq!((&end.operation, &end.cause, end.generation), (&failed.operation, &Cause::NewSpec, None));
    assert_eq!(testbed.bridges(), ["br-green"]);
    let recorded: Vec<_> = changes(&testbed).into_iter().filter(is_blue).map(|change| change.operation).collect();
    assert_eq!(recorded, [&failed.operation, "remove bridge br-blue of network blue", &failed.operation]);
}
