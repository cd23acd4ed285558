//! What a capture leaves in VPP when its program is killed is removed.

use super::attachments::with_pod;
use super::on_each_vpp;
use super::testbed::VppTestbed;
use crate::support::captures::{changes, start};
use crate::support::node::until;
use usnet_dataplane::capture::lease::Leases;

on_each_vpp!(what_a_killed_capture_left_is_removed);

fn what_a_killed_capture_left_is_removed(testbed: &VppTestbed) {
    let (_agent, pod) = with_pod(testbed);
    let before = testbed.interfaces().len();
    let lease = start(testbed, &pod);
    assert_eq!((testbed.interfaces().len(), testbed.spans()), (before + 1, 1));
    drop(lease);
    until("the interface is removed", || (testbed.interfaces().len() == before).then_some(()));
    assert_eq!(testbed.spans(), 0);
    until("it is in the history", || (changes(testbed) == 1).then_some(()));
    until("it is forgotten", || Leases::new(&testbed.paths).described().is_empty().then_some(()));
}
