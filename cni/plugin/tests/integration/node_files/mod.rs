//! Everything that usnet writes on a node, as golden files in `testdata/node-files`. They are still
//! written byte for byte, and a node that has them, as the release left it that wrote them, is
//! read, checked, joined by further pods and cleaned up.
//!
//! [`nodes`] are the attachments, [`files`] the golden files, [`engine`] the objects in Open
//! vSwitch and VPP, and [`restore`] lays all of it out on a node.

mod engine;
mod files;
mod ipam;
mod nodes;
mod restore;

use crate::support::engine::TestEngine;
use crate::support::pod::Pod;
use crate::support::{TestNode, with_result};
use nodes::{Attachment, Progress};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use usnet_crds::{EngineKind, NodeNetwork};
use usnet_dataplane::desired::Desired;
use usnet_dataplane::journal::Journal;
use usnet_dataplane::network_file::{NetworkFile, NetworkFiles};
use usnet_dataplane::plan::{Op, diff};

/// Runs each of these tests on Open vSwitch and on the simulated VPP. A real VPP would need the
/// devices and huge pages of the machine that wrote the files.
macro_rules! on_engines_of_golden_files {
    ($($name:ident),+ $(,)?) => {
        crate::support::engine::on_open_vswitch!($($name),+);
        crate::support::engine::on_the_simulator!($($name),+);
    };
}

on_engines_of_golden_files! {
    the_files_of_version_1_are_written_byte_for_byte,
    a_restored_node_of_version_1_is_as_it_was_left,
    the_plan_for_a_node_of_version_1_changes_no_port,
    interfaces_of_version_1_pass_check_and_del_removes_everything,
    interfaces_of_version_1_are_garbage_collected,
    pods_attach_next_to_interfaces_of_version_1,
}

fn the_files_of_version_1_are_written_byte_for_byte(node: &mut TestNode) {
    nodes::produce(node);
    let written = files::without_packed_rings(files::without_host_devices(files::collect(node)));
    files::replace_if_requested(node, &written);
    files::compare(node, &written);
}

/// The other tests use nodes that are laid out in this way.
fn a_restored_node_of_version_1_is_as_it_was_left(node: &mut TestNode) {
    restore::lay_out(node);
    files::compare(node, &files::collect(node));
}

/// The agent makes this plan when it starts.
fn the_plan_for_a_node_of_version_1_changes_no_port(node: &mut TestNode) {
    restore::lay_out(node);
    let journal = Journal::open(&node.paths).unwrap().records().unwrap();
    assert!(journal.unreadable.is_empty(), "{:?}", journal.unreadable);
    let operations = diff(&Desired::new(networks(node), &journal.records), &node.engine.observe());
    let (removals, mut others): (Vec<_>, Vec<_>) =
        operations.into_iter().partition(|operation| matches!(operation, Op::RemovePort { .. }));
    if node.engine.kind() == EngineKind::Vpp {
        // That version did not limit the MAC tables of bridges. Open vSwitch has a limit by
        // default.
        others.retain(|operation| !matches!(operation, Op::UpdateBridge { .. }));
    }
    assert_eq!(others, []);
    let removed: BTreeSet<String> = removals
        .into_iter()
        .filter_map(|operation| match operation {
            Op::RemovePort { owner, .. } => Some(owner.owner.to_string()),
            _ => None,
        })
        .collect();
    let is_detached =
        |attachment: &&Attachment| matches!(attachment.progress, Progress::Detaching | Progress::Detached);
    let attachments = nodes::attachments(node);
    let expected = attachments.iter().filter(is_detached).map(|attachment| attachment.id(node)).collect();
    assert_eq!(removed, expected, "the ports of pods that are gone");
}

fn interfaces_of_version_1_pass_check_and_del_removes_everything(node: &mut TestNode) {
    restore::lay_out(node);
    for attachment in nodes::attachments(node) {
        if attachment.progress == Progress::Attached {
            check(node, &attachment);
        }
    }
    for attachment in nodes::attachments(node) {
        attachment.call(node, "DEL", &attachment.configuration).assert_done();
    }
    assert_nothing_left(node);
}

/// The runtime lists no attachments.
fn interfaces_of_version_1_are_garbage_collected(node: &mut TestNode) {
    restore::lay_out(node);
    let none: &[Value] = &[];
    for attachment in nodes::attachments(node) {
        let mut configuration = attachment.configuration.clone();
        // GC exists since version 1.1.0.
        configuration["cniVersion"] = json!("1.1.0");
        configuration["cni.dev/valid-attachments"] = json!(none);
        configuration["cni.dev/attachments"] = json!(none);
        attachment.call(node, "GC", &configuration).assert_done();
    }
    assert_nothing_left(node);
}

fn pods_attach_next_to_interfaces_of_version_1(node: &mut TestNode) {
    restore::lay_out(node);
    let (before, objects) = (node.records().len(), engine::dump(node));
    for attachment in nodes::attachments(node).into_iter().filter(|attachment| attachment.can_be_repeated) {
        let beside = Attachment { pod: format!("{}-beside", attachment.pod), ..attachment.clone() };
        restore::create_namespace(&beside);
        let added = beside.call(node, "ADD", &beside.configuration).result();
        assert!(added["interfaces"].is_array(), "{added}");
        beside.call(node, "DEL", &beside.configuration).assert_done();
        assert_eq!(node.records().len(), before, "{}", attachment.pod);
        assert_eq!(engine::dump(node), objects, "{}", attachment.pod);
    }
    // Each pod gets a new sandbox.
    for attachment in nodes::attachments(node).into_iter().filter(|attachment| attachment.can_be_repeated) {
        let pod = attachment.pod(node).restarted();
        attachment.call_as(node, &pod, "ADD", &attachment.configuration).result();
        attachment.call(node, "DEL", &attachment.configuration).assert_done();
        attachment.call_as(node, &pod, "DEL", &attachment.configuration).assert_done();
    }
}

fn check(node: &TestNode, attachment: &Attachment) {
    let mut configuration = attachment.configuration.clone();
    // Legacy configurations are of a version without CHECK.
    if configuration["cniVersion"] == "0.3.1" {
        configuration["cniVersion"] = json!("0.4.0");
    }
    attachment.call(node, "CHECK", &with_result(&configuration, &files::result(attachment))).assert_done();
}

fn networks(node: &TestNode) -> Vec<NodeNetwork> {
    let files = NetworkFiles::new(&node.paths);
    let all = files.list().unwrap().into_iter().map(|name| files.read(&name).unwrap().unwrap());
    all.filter_map(|file| match file {
        NetworkFile::Programmed(programmed) => Some(NodeNetwork::clone(&programmed.network)),
        NetworkFile::Draining { .. } | NetworkFile::Unavailable { .. } => None,
    })
    .collect()
}

/// Asserts that nothing remains but the bridges, and the ports of other clients on them.
#[track_caller]
fn assert_nothing_left(node: &TestNode) {
    for network in networks(node) {
        assert_eq!(node.engine.ports(network.bridge.name.as_str()), Vec::<String>::new(), "{}", network.name);
    }
    if let TestEngine::OpenVswitch(switch) = &node.engine {
        assert_eq!(switch.vsctl(&["--bare", "--columns=_uuid", "list", "QoS"]).unwrap().trim(), "");
    }
    if let TestEngine::Vpp(vpp) = &node.engine {
        assert_eq!(engine::vpp::dump(vpp)["policers"], json!([]));
    }
    assert_eq!(node.devices(), Vec::<String>::new());
    node.engine.assert_no_leftovers();
    node.assert_no_files();
    let others: Vec<_> = files::of_pods(node);
    assert!(others.is_empty(), "{others:?}");
}

impl Attachment {
    fn pod(&self, node: &TestNode) -> Pod {
        Pod::new(&node.paths, crate::support::NAMESPACE, &self.pod)
    }
}
