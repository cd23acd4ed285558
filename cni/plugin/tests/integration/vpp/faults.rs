//! VPP breaks down at every message of an ADD and of a DEL, one after the other: the call fails
//! soon with a reason, and the next one cleans up.

use crate::support::breakdown::{Breakdown, Loss, count_messages};
use crate::support::engine::on_each_vpp;
use crate::support::output::Output;
use crate::support::{NETWORK, TestNode, port_types, record_in};
use std::fs;
use usnet_crds::{AntiSpoofing, MemifSecretKind, MemifSocketKind, Port};

on_each_vpp! {
    a_connection_that_is_lost_fails_the_add_and_leaves_nothing,
    del_cleans_up_after_a_lost_connection,
    add_recovers_after_a_lost_connection,
    del_cleans_up_after_vpp_died_during_an_add,
    add_recovers_after_vpp_died_during_an_add,
    del_succeeds_on_a_lost_connection_and_the_next_del_completes_it,
    del_succeeds_when_vpp_dies_and_the_next_del_completes_it,
}

fn tested_port_types() -> [Port; 3] {
    let with_secret = port_types::memif(MemifSocketKind::Volume, MemifSecretKind::Generated);
    let guarded = Port { anti_spoofing: AntiSpoofing::Mac, ..port_types::memif_in_namespace() };
    [with_secret, guarded, port_types::vhost_user_server()]
}

/// For each port type and each message of an ADD: calls `check` with the output of an ADD in which
/// VPP broke down at this message. Nothing may remain afterwards.
fn at_each_message_of_an_add(node: &mut TestNode, loss: Loss, check: impl Fn(&mut TestNode, &Port, &Output)) {
    let pod = node.pod("p");
    for port in tested_port_types() {
        node.program_network_with(NETWORK, &port, None);
        let messages = count_messages(node.vpp(), || node.add(&pod, "net1").result());
        assert!(messages > 3, "{messages} messages are no ADD");
        node.del(&pod, "net1").assert_done();
        for breakdown in Breakdown::each(node.vpp(), loss, messages) {
            eprintln!("{port:?}: {breakdown:?} of {messages}");
            let output = breakdown.during(node.vpp(), || node.add(&pod, "net1"));
            output.assert_in_time();
            assert!(output.message(11).contains("VPP"), "{output:?}");
            assert_eq!(node.mounts(), []);
            check(node, &port, &output);
            assert_all_gone(node);
        }
    }
}

/// For each port type and each message of a DEL: calls `check` after a DEL in which VPP broke down
/// at this message. The DEL succeeds.
fn at_each_message_of_a_del(node: &mut TestNode, loss: Loss, check: impl Fn(&mut TestNode, &Port)) {
    let pod = node.pod("p");
    for port in tested_port_types() {
        node.program_network_with(NETWORK, &port, None);
        node.add(&pod, "net1").result();
        let messages = count_messages(node.vpp(), || node.del(&pod, "net1").assert_done());
        assert!(messages > 1, "{messages} messages are no DEL");
        for breakdown in Breakdown::each(node.vpp(), loss, messages) {
            eprintln!("{port:?}: {breakdown:?} of {messages}");
            node.add(&pod, "net1").result();
            let output = breakdown.during(node.vpp(), || node.del(&pod, "net1"));
            output.assert_done();
            output.assert_in_time();
            assert!(output.stderr().contains("the agent removes the port later"), "{output:?}");
            assert_eq!((node.mounts().len(), node.records().len()), (0, 1));
            check(node, &port);
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

#[track_caller]
fn assert_all_gone(node: &TestNode) {
    node.assert_clean();
    assert_eq!(fs::read_dir(node.pod("p").volume).unwrap().count(), 0);
}

/// Asserts that ADD creates one port, however often it was started, and that DEL removes it.
fn add_and_del(node: &TestNode) {
    let pod = node.pod("p");
    node.add(&pod, "net1").result();
    assert_eq!(node.ports(NETWORK).len(), 1);
    node.engine.assert_no_leftovers();
    node.del(&pod, "net1").assert_done();
}

/// Restarts VPP, which has no objects then, and programs the network like the agent.
fn start_and_program(node: &mut TestNode, port: &Port) {
    node.engine.kill();
    node.engine.start_again();
    node.program_network_with(NETWORK, port, None);
}

fn a_connection_that_is_lost_fails_the_add_and_leaves_nothing(node: &mut TestNode) {
    at_each_message_of_an_add(node, Loss::Connection, |node, _, _| assert_all_gone(node));
}

fn del_cleans_up_after_a_lost_connection(node: &mut TestNode) {
    at_each_message_of_an_add(node, Loss::EveryConnection, |node, port, output| {
        let [record] = node.records().try_into().unwrap();
        let record = record_in(&record);
        let secret = record["port"]["secret"].as_str();
        assert_eq!(secret.is_some(), port.memif.secret == MemifSecretKind::Generated);
        assert!(secret.is_none_or(|secret| !format!("{output:?}").contains(secret)), "{output:?}");
        node.del(&node.pod("p"), "net1").assert_done();
    });
}

fn add_recovers_after_a_lost_connection(node: &mut TestNode) {
    at_each_message_of_an_add(node, Loss::EveryConnection, |node, _, _| add_and_del(node));
}

fn del_cleans_up_after_vpp_died_during_an_add(node: &mut TestNode) {
    at_each_message_of_an_add(node, Loss::Vpp, |node, port, output| {
        assert!(output.message(11).contains("the rollback did not complete"), "{output:?}");
        start_and_program(node, port);
        node.del(&node.pod("p"), "net1").assert_done();
    });
}

fn add_recovers_after_vpp_died_during_an_add(node: &mut TestNode) {
    at_each_message_of_an_add(node, Loss::Vpp, |node, port, _| {
        start_and_program(node, port);
        add_and_del(node);
    });
}

fn del_succeeds_on_a_lost_connection_and_the_next_del_completes_it(node: &mut TestNode) {
    at_each_message_of_a_del(node, Loss::Connection, |_, _| {});
}

fn del_succeeds_when_vpp_dies_and_the_next_del_completes_it(node: &mut TestNode) {
    at_each_message_of_a_del(node, Loss::Vpp, start_and_program);
}
