//! The plugin is killed between any two steps of ADD or DEL: the next DEL, or the next ADD, brings all to a clean end.

use crate::support::engine::on_each_engine;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, configuration, kinds, tools};
use nix::mount::{MsFlags, mount};
use serde_json::json;
use std::fs;
use usnet_crds::{Engine, MemifSecretKind, MemifSocketKind, Port};
use usnet_plugin::add::Request;
use usnet_plugin::cni::configuration::Configuration;
use usnet_plugin::detach::Detachment;
use usnet_plugin::node::Node;
use usnet_plugin::{attach, detach};

on_each_engine! {
    del_cleans_up_after_an_interrupted_add,
    add_begins_anew_after_an_interrupted_add,
    del_goes_on_after_an_interrupted_del,
    add_works_after_an_interrupted_del,
    a_mount_that_was_left_in_the_middle_is_cleaned_up,
}

/// The kinds of ports whose steps differ.
fn kinds_of(node: &TestNode) -> Vec<Port> {
    match node.engine.kind() {
        Engine::OpenVswitch => vec![kinds::vhost_user(), kinds::veth()],
        Engine::Vpp => vec![kinds::memif(MemifSocketKind::Volume, MemifSecretKind::Generated), kinds::veth()],
    }
}

/// The network with addresses, where host-local is there.
fn program(node: &TestNode, port: &Port) {
    let ipam = json!({"type": "host-local", "dataDir": "/run/addresses", "ranges": [[{"subnet": "10.56.0.0/24"}]]});
    node.program_network_with(NETWORK, port, tools().is_some().then_some(ipam));
}

fn held() -> usize {
    let entries = fs::read_dir(format!("/run/addresses/{NETWORK}")).into_iter().flatten();
    entries.filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("10.")).count()
}

/// ADD up to its first `steps` steps, and no more: nothing is undone, as after `kill -9`.
fn begin_add(node: &TestNode, pod: &Pod, steps: usize) {
    let opened = Node::open(node.roots.clone()).unwrap();
    let environment = node.environment("ADD", pod, "net1");
    let configuration = Configuration::parse(configuration(NETWORK).to_string().as_bytes()).unwrap();
    let request = Request::parse(&environment, &configuration).unwrap();
    let prepared = request.prepare(&opened).unwrap();
    let locked = opened.journal.lock(&environment.attachment().unwrap()).unwrap();
    let mut attachment = prepared.attachment(&request, &opened, &locked);
    for step in &attach::Step::ALL[..steps] {
        attachment.take(*step).unwrap();
    }
}

/// The same for DEL.
fn begin_del(node: &TestNode, pod: &Pod, steps: usize) {
    let opened = Node::open(node.roots.clone()).unwrap();
    let environment = node.environment("DEL", pod, "net1");
    let locked = opened.journal.lock(&environment.attachment().unwrap()).unwrap();
    let record = locked.read().unwrap().unwrap();
    let mut detachment = Detachment::new(&opened, &environment, &locked, record);
    for step in &detach::Step::ALL[..steps] {
        detachment.take(*step);
    }
}

fn assert_all_gone(node: &TestNode) {
    node.assert_clean();
    assert_eq!(held(), 0);
}

fn del_cleans_up_after_an_interrupted_add(node: &mut TestNode) {
    for port in kinds_of(node) {
        program(node, &port);
        for steps in 0..=attach::Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            begin_add(node, &pod, steps);
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

fn add_begins_anew_after_an_interrupted_add(node: &mut TestNode) {
    for port in kinds_of(node) {
        program(node, &port);
        // After the last step it is attached, and not interrupted.
        for steps in 0..attach::Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            begin_add(node, &pod, steps);
            node.add(&pod, "net1").result();
            let volumes = if port == kinds::veth() { 0 } else { 1 };
            assert_eq!((node.ports(NETWORK).len(), node.mounts().len()), (1, volumes), "after {steps} steps");
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

fn del_goes_on_after_an_interrupted_del(node: &mut TestNode) {
    for port in kinds_of(node) {
        program(node, &port);
        for steps in 0..=detach::Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            node.add(&pod, "net1").result();
            begin_del(node, &pod, steps);
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

fn add_works_after_an_interrupted_del(node: &mut TestNode) {
    for port in kinds_of(node) {
        program(node, &port);
        for steps in 1..=detach::Step::ALL.len() {
            let pod = node.pod(&format!("p{steps}"));
            node.add(&pod, "net1").result();
            begin_del(node, &pod, steps);
            node.add(&pod, "net1").result();
            node.del(&pod, "net1").assert_done();
            assert_all_gone(node);
        }
    }
}

fn a_mount_that_was_left_in_the_middle_is_cleaned_up(node: &mut TestNode) {
    program(node, &kinds_of(node)[0]);
    for finish in ["DEL", "ADD"] {
        let pod = node.pod(finish);
        begin_add(node, &pod, 1);
        // As between the mount on the staging folder and its flags.
        let staging = node.roots.ports().join(format!(".{}.new", pod.uid));
        for folder in [&staging, &pod.directory] {
            fs::create_dir_all(folder).unwrap();
        }
        let nothing: Option<&str> = None;
        mount(Some(&pod.volume), &staging, nothing, MsFlags::MS_BIND, nothing).unwrap();
        if finish == "ADD" {
            node.add(&pod, "net1").result();
            let [(path, options)] = node.mounts().try_into().unwrap();
            assert!(path == pod.directory && options.contains("nosymfollow"), "{path:?} {options:?}");
        }
        node.del(&pod, "net1").assert_done();
        assert_all_gone(node);
    }
}
