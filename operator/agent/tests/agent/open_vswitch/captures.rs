//! What a capture leaves when its program is killed is removed; a capture that runs is not touched.

use super::attachments::testbed_with_pod;
use super::testbed::OvsTestbed;
use crate::support::captures::{changes, start};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use usnet_crds::EngineKind;
use usnet_dataplane::capture::lease::Leases;

fn mirrors(testbed: &OvsTestbed) -> Vec<String> {
    testbed.vsctl("--bare --columns=name list Mirror").split_whitespace().map(str::to_owned).collect()
}

fn ports(testbed: &OvsTestbed) -> Vec<String> {
    testbed.vsctl("list-ports br-blue").lines().map(str::to_owned).collect()
}

#[test]
fn what_a_killed_capture_left_is_removed_and_mirrors_of_others_stay() {
    let (testbed, agent, pod) = testbed_with_pod();
    let others = "-- --id=@p get Port br-blue -- --id=@m create Mirror name=others select_src_port=@p -- add Bridge br-blue mirrors @m";
    testbed.vsctl(others);
    let lease = start(&testbed, &pod);
    assert_eq!((mirrors(&testbed).len(), ports(&testbed).len()), (2, 2));
    drop(lease);
    until("the mirror is removed", || (mirrors(&testbed) == ["others"]).then_some(()));
    assert_eq!(ports(&testbed), [pod.port.name.to_string()]);
    until("it is in the history", || (changes(&testbed) == 1).then_some(()));
    until("it is forgotten", || Leases::new(&testbed.paths).described().is_empty().then_some(()));
    assert_eq!(agent.metric("usnet_agent_repairs_total", EngineKind::OpenVswitch), 0.0, "a capture is no drift");
}

#[test]
fn after_a_reboot_what_captures_left_in_the_database_is_removed_and_what_runs_stays() {
    let (testbed, agent, pod) = testbed_with_pod();
    drop(agent);
    let lease = start(&testbed, &pod);
    // Its folder is in memory.
    lease.finish().unwrap();
    assert_eq!(mirrors(&testbed).len(), 1);
    let _agent = RunningAgent::start(&testbed.paths);
    until("the mirror is removed", || mirrors(&testbed).is_empty().then_some(()));
    // This capture runs: the agent finds it at its start, and again as long as its description
    // exists.
    let lease = start(&testbed, &pod);
    let change_count = || changes(&testbed);
    let before = change_count();
    testbed.vsctl(&format!("del-port {}", pod.port.name));
    until("the agent works", || ports(&testbed).contains(&pod.port.name.to_string()).then_some(()));
    assert_eq!((mirrors(&testbed).len(), change_count()), (1, before));
    drop(lease);
    until("the mirror is removed", || mirrors(&testbed).is_empty().then_some(()));
}
