//! Concurrent calls of the plugin.

use crate::support::engine::on_each_engine;
use crate::support::output::Output;
use crate::support::pod::Pod;
use crate::support::{NETWORK, TestNode, port_types};
use std::collections::BTreeSet;
use std::thread::{Builder, scope};
use usnet_crds::{EngineKind, Port};

on_each_engine! {
    pods_that_start_and_stop_concurrently_do_not_interfere,
    pods_start_while_others_stop,
    concurrent_interfaces_of_one_pod_share_its_directory,
    concurrent_adds_of_one_interface_create_one_port,
    concurrent_dels_of_one_interface_all_succeed,
    a_concurrent_add_and_del_leave_all_or_nothing,
}

/// The number of pods that start at once when a node comes back.
const PODS_OF_VPP: usize = 50;
/// Open vSwitch with DPDK takes some 20 ms per removed port, and DEL defers removals that take
/// longer than a second.
const PODS_OF_OPEN_VSWITCH: usize = 16;
const INTERFACES: usize = 16;
/// The number of concurrent calls for one interface: a runtime repeats a call that timed out.
const REPETITIONS: usize = 8;

fn ports(node: &TestNode) -> Vec<Port> {
    match node.engine.kind() {
        EngineKind::OpenVswitch => vec![port_types::vhost_user()],
        EngineKind::Vpp => vec![port_types::vhost_user(), port_types::memif_in_volume()],
    }
}

/// Makes a call for each target concurrently. The threads start in the mount namespace of this one.
fn concurrently<T: Send, R: Send>(targets: impl IntoIterator<Item = T>, call: impl Fn(T) -> R + Sync) -> Vec<R> {
    let call = &call;
    scope(|scope| {
        let spawn = |target| Builder::new().spawn_scoped(scope, move || call(target)).unwrap();
        let threads: Vec<_> = targets.into_iter().map(spawn).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn pods(node: &TestNode, beginning: &str, count: usize) -> Vec<Pod> {
    (0..count).map(|number| node.pod(&format!("{beginning}{number}"))).collect()
}

#[track_caller]
fn assert_ports(node: &TestNode, count: usize) {
    let sockets = node.engine.sockets(&node.bridge());
    assert_eq!((sockets.len(), sockets.iter().collect::<BTreeSet<_>>().len()), (count, count), "{sockets:?}");
    node.engine.assert_no_leftovers();
}

fn pods_that_start_and_stop_concurrently_do_not_interfere(node: &mut TestNode) {
    let count = match node.engine.kind() {
        EngineKind::OpenVswitch => PODS_OF_OPEN_VSWITCH,
        EngineKind::Vpp => PODS_OF_VPP,
    };
    let pods = pods(node, "p", count);
    for port in ports(node) {
        node.program_network_with(NETWORK, &port, None);
        concurrently(&pods, |pod| node.add(pod, "net1").result());
        assert_ports(node, count);
        concurrently(&pods, |pod| node.del(pod, "net1").assert_done());
        node.assert_clean();
    }
}

fn pods_start_while_others_stop(node: &mut TestNode) {
    let (old, new) = (pods(node, "old", INTERFACES), pods(node, "new", INTERFACES));
    for port in ports(node) {
        node.program_network_with(NETWORK, &port, None);
        concurrently(&old, |pod| node.add(pod, "net1").result());
        let calls = old.iter().zip(&new).flat_map(|(old, new)| [("DEL", old), ("ADD", new)]);
        concurrently(calls, |(verb, pod)| match verb {
            "ADD" => drop(node.add(pod, "net1").result()),
            _ => node.del(pod, "net1").assert_done(),
        });
        assert_ports(node, INTERFACES);
        assert_eq!(node.mounts().len(), INTERFACES);
        concurrently(&new, |pod| node.del(pod, "net1").assert_done());
        node.assert_clean();
    }
}

fn concurrent_interfaces_of_one_pod_share_its_directory(node: &mut TestNode) {
    let pod = node.pod("p");
    let interfaces: Vec<_> = (0..INTERFACES).map(|number| format!("net{number}")).collect();
    for port in ports(node) {
        node.program_network_with(NETWORK, &port, None);
        concurrently(&interfaces, |interface| node.add(&pod, interface).result());
        assert_ports(node, INTERFACES);
        assert_eq!(node.mounts().len(), 1);
        concurrently(&interfaces, |interface| node.del(&pod, interface).assert_done());
        node.assert_clean();
    }
}

fn concurrent_adds_of_one_interface_create_one_port(node: &mut TestNode) {
    let pod = node.pod("p");
    for port in ports(node) {
        node.program_network_with(NETWORK, &port, None);
        let outputs = concurrently(0..REPETITIONS, |_| node.add(&pod, "net1"));
        let results: Vec<_> = outputs.iter().map(Output::result).collect();
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        assert_ports(node, 1);
        assert_eq!(pod.description("net1")["mac"], results[0]["interfaces"][0]["mac"]);
        node.del(&pod, "net1").assert_done();
        node.assert_clean();
    }
}

fn concurrent_dels_of_one_interface_all_succeed(node: &mut TestNode) {
    let pod = node.pod("p");
    for port in ports(node) {
        node.program_network_with(NETWORK, &port, None);
        node.add(&pod, "net1").result();
        concurrently(0..REPETITIONS, |_| node.del(&pod, "net1").assert_done());
        node.assert_clean();
    }
}

/// A runtime may cancel an ADD and call DEL while the ADD still runs.
fn a_concurrent_add_and_del_leave_all_or_nothing(node: &mut TestNode) {
    let pod = node.pod("p");
    for port in ports(node) {
        node.program_network_with(NETWORK, &port, None);
        for _ in 0..REPETITIONS {
            let calls: [fn(&TestNode, &Pod) -> Output; 2] =
                [|node, pod| node.add(pod, "net1"), |node, pod| node.del(pod, "net1")];
            let [added, deleted] = concurrently(calls, |call| call(node, &pod)).try_into().unwrap();
            added.result();
            deleted.assert_done();
            // The call that ran last wins.
            let is_there = node.records().len();
            assert_ports(node, is_there);
            assert_eq!((node.mounts().len(), pod.volume.join("net1.json").exists()), (is_there, is_there == 1));
            node.del(&pod, "net1").assert_done();
            node.assert_clean();
        }
    }
}
