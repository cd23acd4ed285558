//! Bundles on a real Open vSwitch: all of it or nothing.

use super::switch::{all, connect, flow, of_port, start};
use usnet_openflow::flow::{Action, Match, Output, Oxm};
use usnet_openflow::{Difference, FlowMod, OpenFlowError};

/// A match on a field without the fields that it needs, which values cannot have: a port of UDP.
fn refused() -> FlowMod {
    let udp_port = Oxm::decode(&[0x80, 0, 30, 2, 0, 67]).expect("a field");
    FlowMod::DeleteStrict { table: 0, priority: 10, matches: udp_port }
}

#[test]
fn a_refused_change_leaves_the_flows_as_they_are_and_is_named() {
    let daemons = start();
    let mut connection = connect(&daemons);
    connection.commit(&[FlowMod::Add(flow(10, of_port(1), Action::Drop))]).expect("a flow");
    let before = all(&mut connection);
    let mut changes = vec![FlowMod::Delete(Match::default()), FlowMod::Add(flow(20, of_port(2), Action::Drop))];
    changes.extend([refused(), FlowMod::Add(flow(30, of_port(3), Action::Drop)), refused()]);
    let error = connection.commit(&changes).expect_err("refused");
    // OFPET_BAD_MATCH, OFPBMC_BAD_PREREQ.
    assert!(matches!(error, OpenFlowError::ChangeRefused { position: 2, kind: 4, code: 9, .. }), "{error:?}");
    assert_eq!(all(&mut connection), before);
    // The connection is used further.
    connection.commit(&[FlowMod::Delete(Match::default())]).expect("deleted");
    assert_eq!(all(&mut connection), []);
}

#[test]
fn more_refusals_than_the_switch_queues_replies_are_read() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let changes: Vec<FlowMod> = (0..1000).map(|_| refused()).collect();
    let error = connection.commit(&changes).expect_err("refused");
    assert!(matches!(error, OpenFlowError::ChangeRefused { position: 0, .. }), "{error:?}");
}

#[test]
fn an_empty_bundle_and_a_second_one_are_committed() {
    let daemons = start();
    let mut connection = connect(&daemons);
    connection.commit(&[]).expect("nothing");
    for priority in [10, 20] {
        connection.commit(&[FlowMod::Add(flow(priority, of_port(1), Action::Drop))]).expect("a flow");
    }
    assert_eq!(all(&mut connection).len(), 2);
}

#[test]
fn a_flow_of_others_and_a_changed_one_are_replaced() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let desired = [flow(10, of_port(1), Action::Drop), flow(20, of_port(2), Action::Output(Output::Normal))];
    connection.commit(&desired.clone().map(FlowMod::Add)).expect("flows");
    for change in [
        vec!["del-flows", "br-test", "in_port=1"],
        vec!["add-flow", "br-test", "priority=30,udp,tp_src=7,actions=NORMAL"],
        vec!["mod-flows", "br-test", "in_port=1,actions=NORMAL"],
        vec!["add-flow", "br-test", "priority=20,in_port=2,actions=drop"],
        vec!["add-flow", "br-test", "table=3,actions=group:7"],
        vec!["del-flows", "br-test"],
    ] {
        if change.contains(&"table=3,actions=group:7") {
            ofctl(&daemons, &["add-group", "br-test", "group_id=7,type=all,bucket=actions=output:1"]);
        }
        ofctl(&daemons, &change);
        let difference = Difference::between(&desired, all(&mut connection));
        assert!(!difference.is_empty(), "{change:?}");
        connection.commit(&difference.changes()).expect("flows");
        let difference = Difference::between(&desired, all(&mut connection));
        assert!(difference.is_empty(), "{change:?}: {difference:?}");
    }
}

fn ofctl(daemons: &usnet_test_openvswitch::OpenVswitch, arguments: &[&str]) {
    let mut command = daemons.command("ovs-ofctl");
    let status = command.env("OVS_RUNDIR", daemons.folder()).args(["-O", "OpenFlow14"]).args(arguments).status();
    assert!(status.expect("ovs-ofctl").success(), "{arguments:?}");
}
