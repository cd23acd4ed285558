//! Users who may read their own namespace alone.

use super::{check, explain, sandbox_failed, selecting, waiting};
use crate::commands::explain::text::text;
use crate::model::snapshot::Event;
use crate::model::testing::{add, attached, definition_object, pod_object, snapshot};
use crate::model::{Objects, Snapshot};

/// What a user with the ClusterRole edit in `web` can read.
fn own_namespace() -> Snapshot {
    let all = snapshot();
    let mut own = Snapshot { now: all.now, ..Snapshot::default() };
    for (objects, what) in [
        (Objects::Networks, "networks"),
        (Objects::States, "node states"),
        (Objects::Compiled, "compiled networks"),
        (Objects::Nodes, "nodes"),
        (Objects::UsnetPods, "pods in usnet-system"),
    ] {
        own.mark_unread(objects, what, "you may not read them: ask for the ClusterRole usnet-networks-view");
    }
    own.definitions_namespace = Some("web".to_owned());
    add(&mut own, &definition_object("web", "blue"));
    own
}

#[test]
fn events_explain_a_pod_to_users_who_may_not_read_networks() {
    let mut snapshot = own_namespace();
    sandbox_failed(
        &mut snapshot,
        "usnet[102 NoVolume]: pod web/app has no emptyDir volume \"usnet\" that a container mounts",
    );
    check(&mut snapshot, &waiting(), "NoVolume", &["net1       blue", "NOT READ", "usnet-networks-view"]);
    check(&mut own_namespace(), &waiting(), "Starting", &["reported no reason"]);
    check(&mut own_namespace(), &selecting("bleu"), "DefinitionMissing", &["write blue if that network was meant"]);
    check(&mut own_namespace(), &selecting("blue@eth0"), "InterfaceNameInvalid", &["every pod has"]);
}

#[test]
fn an_event_says_that_a_program_is_not_connected() {
    let mut snapshot = own_namespace();
    let running = pod_object("app", &attached());
    let report = explain(&mut snapshot, &running);
    assert!(report.is_ok() && report.findings.is_empty(), "{}", text(&report));
    let message = "interface net1: no program of the pod is connected to Open vSwitch".to_owned();
    let event = Event { reason: "NotConnected".to_owned(), message, is_warning: true, time: None, count: 1 };
    snapshot.events.push(event);
    check(&mut snapshot, &running, "NotConnected", &["attached, program not connected", "it may be over"]);
}

#[test]
fn nothing_is_concluded_from_a_network_that_may_not_be_read() {
    let mut snapshot = own_namespace();
    snapshot.definitions.clear();
    snapshot.mark_unread(Objects::Definitions, "NetworkAttachmentDefinitions", "you may not read them");
    check(&mut snapshot, &selecting("bleu"), "Starting", &["net1       bleu"]);
}
