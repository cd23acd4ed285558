//! Bundles on a real Open vSwitch: all of it or nothing.

use super::switch::{all, connect, flow, of_port, start};
use usnet_openflow::flow::{Action, Group, GroupId, Match, Output, Oxm, Register, Step};
use usnet_openflow::{Change, Difference, FlowFilter, FlowMod, GroupMod, InstalledFlow, OpenFlowError};

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
fn flows_before_a_bundle_are_seen_and_what_they_lead_to_is_changed_with_it() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let [former, other, added] = [1, 2, 3].map(|number| flow(10, of_port(number), Action::Drop));
    connection.commit(&[&former, &other].map(|flow| FlowMod::Add(flow.clone()))).expect("flows");
    let filter = FlowFilter { matches: of_port(1), ..FlowFilter::default() };
    let changes = [FlowMod::Add(added.clone())];
    let refused_later = connection.commit_after_look(&filter, &changes, |_| vec![refused()]);
    assert!(matches!(refused_later, Err(OpenFlowError::ChangeRefused { position: 1, .. })), "{refused_later:?}");
    let refused = connection.commit_after_look(&filter, &[refused()], |_| Vec::new());
    assert!(matches!(refused, Err(OpenFlowError::ChangeRefused { position: 0, .. })), "{refused:?}");
    assert_eq!(all(&mut connection).len(), 2, "nothing has changed");
    let delete = |found: &[InstalledFlow]| {
        assert!(Difference::between(std::slice::from_ref(&former), found.to_vec()).is_empty(), "{found:?}");
        vec![FlowMod::strict_deletion(&former)]
    };
    connection.commit_after_look(&filter, &changes, delete).expect("flows");
    assert!(Difference::between(&[other, added], all(&mut connection)).is_empty());
}

#[test]
fn more_refusals_than_the_switch_queues_replies_are_read() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let changes: Vec<FlowMod> = (0..1000).map(|_| refused()).collect();
    let error = connection.commit(&changes).expect_err("refused");
    assert!(matches!(error, OpenFlowError::ChangeRefused { position: 0, .. }), "{error:?}");
}

/// A group of which each bucket is as long as those of policies are.
fn group(id: u32, buckets: usize) -> Group {
    let number = |bucket: usize| u32::try_from(bucket).expect("few");
    let steps =
        |bucket| vec![Step::Set(Register::R1, number(bucket)), Step::Resubmit(30), Step::Output(Output::Normal)];
    Group { id: GroupId(id), buckets: (0..buckets).map(steps).collect() }
}

#[test]
fn groups_and_the_flows_that_send_to_them_are_changed_together() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let to = |id| {
        let action = Action::Apply { steps: vec![Step::Group(GroupId(id))], next: None };
        Change::Flow(FlowMod::Add(flow(10, of_port(1), action)))
    };
    let set = |group: &Group| Change::Group(GroupMod::Set(group.clone()));
    let [largest, other] = [group(1, Group::BUCKETS_MAX), group(2, 3)];
    connection.commit_all(&[set(&largest), set(&other), to(1)]).expect("groups and a flow");
    let found = connection.groups().expect("groups");
    assert!(found.len() == 2 && [&largest, &other].iter().all(|group| found.iter().any(|found| found.is(group))));
    let smaller = group(1, 1);
    connection.commit_all(&[set(&smaller)]).expect("replaced");
    assert_eq!(all(&mut connection).len(), 1, "the flow stays");
    let error = connection.commit_all(&[Change::Group(GroupMod::Delete(GroupId(1))), Change::Flow(refused())]);
    assert!(matches!(error, Err(OpenFlowError::ChangeRefused { position: 1, .. })), "{error:?}");
    assert!(connection.groups().expect("groups").iter().any(|found| found.is(&smaller)), "the group stays");
    connection.commit_all(&[Change::Group(GroupMod::Delete(GroupId(1)))]).expect("deleted");
    assert_eq!(all(&mut connection), [], "its flow is deleted as well");
}

/// The switch would end.
#[test]
fn a_flow_to_a_group_that_its_bundle_does_not_set_is_not_sent() {
    let daemons = start();
    let mut connection = connect(&daemons);
    let action = Action::Apply { steps: vec![Step::Group(GroupId(7))], next: None };
    let to_group = FlowMod::Add(flow(10, of_port(1), action));
    let set = Change::Group(GroupMod::Set(group(7, 1)));
    connection.commit_all(std::slice::from_ref(&set)).expect("a group");
    let changed = Change::Flow(to_group.clone());
    let delete = Change::Group(GroupMod::Delete(GroupId(7)));
    for changes in [vec![changed.clone()], vec![changed.clone(), set.clone()], vec![set, delete, changed]] {
        let error = connection.commit_all(&changes).expect_err("a group of before");
        assert!(matches!(error, OpenFlowError::UnsetGroup(GroupId(7))), "{error:?}");
    }
    assert!(matches!(connection.commit(&[to_group]), Err(OpenFlowError::UnsetGroup(GroupId(7)))));
    assert_eq!(all(&mut connection), []);
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
