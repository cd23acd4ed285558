//! What a capture leaves in VPP when its program is killed is removed.

use super::on_each_vpp;
use super::testbed::{VppTestbed, network};
use crate::support::captures::{changes, start};
use crate::support::node::until;
use crate::support::running_agent::RunningAgent;
use usnet_dataplane::capture::lease::Leases;

on_each_vpp!(what_a_killed_capture_left_is_removed);

fn what_a_killed_capture_left_is_removed(testbed: &VppTestbed) {
    let agent = RunningAgent::start(&testbed.paths);
    agent.set_spec(1, &[network("blue")]);
    testbed.wait_until_programmed("blue");
    let pod = testbed.pod("c1", &network("blue"));
    testbed.write(&pod);
    testbed.wait_for_port(&pod);
    let before = testbed.interfaces().len();
    let lease = start(testbed, &pod);
    assert_eq!((testbed.interfaces().len(), testbed.spans()), (before + 1, 1));
    drop(lease);
    until("the interface is removed", || (testbed.interfaces().len() == before).then_some(()));
    assert_eq!(testbed.spans(), 0);
    until("it is in the history", || (changes(testbed) == 1).then_some(()));
    until("it is forgotten", || Leases::new(&testbed.paths).described().is_empty().then_some(()));
}
