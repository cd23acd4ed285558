//! The node loses its power. What is in memory is gone: mounts, network namespaces, VPP. The
//! database of Open vSwitch is on disk, and the record of an attachment without anything else that
//! outlives a reboot may not be.

use crate::support::engine::on_open_vswitch;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode};
use nix::mount::{MntFlags, umount2};
use std::fs;
use usnet_dataplane::desired::Desired;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::plan::{Op, diff};

on_open_vswitch!(a_port_whose_record_was_lost_is_removed_and_del_succeeds);

/// What the disk has of the record.
#[derive(Debug, Clone, Copy)]
enum Left {
    Nothing,
    /// The name, without content.
    Empty,
}

fn a_port_whose_record_was_lost_is_removed_and_del_succeeds(node: &mut TestNode) {
    let network = node.program_network(NETWORK, None);
    for left in [Left::Nothing, Left::Empty] {
        let pod = node.pod(&format!("{left:?}"));
        node.add(&pod, "net1").result();
        let [record] = Journal::open(&node.paths).unwrap().records().unwrap().records.try_into().unwrap();
        cut(node, &pod, left);

        let journal = Journal::open(&node.paths).unwrap().records().unwrap();
        assert!(journal.records.is_empty() && journal.unreadable.is_empty(), "{left:?}: {journal:?}");
        let plan = diff(&Desired::new([network.clone()], &journal.records), &node.engine.observe());
        let [Op::RemovePort { owner, .. }] = plan.as_slice() else { panic!("{left:?}: {plan:?}") };
        assert_eq!(owner.owner.to_string(), record.id.to_string());
        node.engine.remove_port(&record);
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    }
}

fn cut(node: &TestNode, pod: &Pod, left: Left) {
    umount2(&pod.directory, MntFlags::MNT_DETACH).unwrap();
    fs::remove_dir(&pod.directory).unwrap();
    fs::remove_dir_all(node.paths.index()).unwrap();
    let [record] = node.records().try_into().unwrap();
    match left {
        Left::Nothing => fs::remove_file(record).unwrap(),
        Left::Empty => fs::write(record, "").unwrap(),
    }
}
