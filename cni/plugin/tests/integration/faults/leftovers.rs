//! Mounts and folders that belong to no attachment, which the garbage collection removes.

use crate::support::pod::Pod;
use crate::support::{TestNode, on_a_node};
use std::collections::BTreeSet;
use std::path::PathBuf;
use usnet_dataplane::journal::Journal;
use usnet_plugin::attachment::node::Node;
use usnet_plugin::attachment::pod_directory::leftovers::{self, Leftover};

fn forget(node: &TestNode, pod: &Pod) {
    let journal = Journal::open(&node.paths).unwrap();
    let id = format!("{}.net1", pod.container).parse().unwrap();
    journal.lock(&id).unwrap().remove().unwrap();
}

#[test]
fn a_mount_without_a_record_is_removed_and_that_of_an_attached_pod_is_not() {
    on_a_node(|node| {
        let [attached, forgotten] = ["attached", "forgotten"].map(|name| node.pod(name));
        for pod in [&attached, &forgotten] {
            node.add(pod, "net1").result();
        }
        let opened = Node::open(node.paths.clone());
        assert_eq!(leftovers::find(&opened).unwrap(), BTreeSet::new());
        forget(node, &forgotten);
        let leftover = Leftover::PodDirectory(forgotten.directory.clone());
        assert_eq!(leftovers::find(&opened).unwrap(), [leftover.clone()].into());
        assert!(leftovers::remove(&opened, &leftover).unwrap());
        assert!(!forgotten.directory.exists());
        let in_use = Leftover::PodDirectory(attached.directory.clone());
        assert!(!leftovers::remove(&opened, &in_use).unwrap(), "an attachment has it");
        assert_eq!(node.mounts().len(), 1, "that of the attached pod");
        node.del(&attached, "net1").assert_done();
        assert_eq!(node.leftovers(), Vec::<PathBuf>::new());
    });
}
