//! Hugepages and exclusive CPUs, in a guest whose kubelet has some to give away.

use super::guest_node::{GuestNode, NAME, NUMA_NODES};
use super::{Engine, pod_on};
use crate::support::cluster::{apply, check, eventually, get};
use crate::support::pods::{await_packets, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Instant;
use usnet_e2e::machines::packages::Packages;

/// The memory of the engine for packets, in hugepages of 2 MiB.
const PAGES: u32 = 256;
/// On each NUMA node, as boot parameters spread them: enough together, and too few on each.
const SPREAD: u32 = 150;

#[test]
fn an_engine_has_hugepages_and_cpus_of_its_own() {
    let packages = match Packages::find() {
        Ok(packages) => packages,
        Err(why) => return println!("SKIPPED: {why}; `make engine-guest` runs it"),
    };
    let begun = Instant::now();
    let after = || begun.elapsed().as_secs_f64();
    let node = GuestNode::start(&packages);
    println!("guest: containerd with its images after {:.1} s", after());
    (0..NUMA_NODES).for_each(|numa_node| node.reserve(numa_node, SPREAD));
    node.join();
    println!("guest: a node that is ready after {:.1} s", after());
    devices_need_an_iommu();
    println!("guest: the engine for PCI devices was refused after {:.1} s", after());
    let memory = json!({"packets": "512Mi", "hugepages": "2Mi", "process": "512Mi"});
    let engine = Engine::apply(NAME, &json!({"memory": memory, "cpus": {"exclusive": 2}}));
    let numa_node = hugepages_of_other_numa_nodes_do_not_count(&node, &engine);
    println!("guest: the engine has to wait for hugepages after {:.1} s", after());
    node.reserve(numa_node, PAGES);
    let before = node.free_hugepages();
    engine.await_ready();
    println!("guest: the engine runs after {:.1} s", after());
    let taken: Vec<u32> = before.iter().zip(node.free_hugepages()).map(|(before, now)| before - now).collect();
    let expected = (0..NUMA_NODES).map(|each| if each == numa_node { PAGES } else { 0 }).collect::<Vec<_>>();
    assert_eq!(taken, expected, "the hugepages of each NUMA node that the engine has");

    let scene = Scene::new(NAME);
    scene.apply_network(NAME, &json!({"nodeSelector": {"matchLabels": {NAME: "yes"}}}));
    // One with a CPU of its own, and one that shares what is left.
    for (pod, cpu) in [("left", "1"), ("right", "300m")] {
        apply(&polling_pod(&scene, pod, cpu));
    }
    for pod in ["left", "right"] {
        wait_running(&scene, pod);
        await_packets(&scene, pod, 1);
    }
    println!("guest: packets in both pods after {:.1} s", after());
    let given = each_has_the_cpus_that_kubelet_gave(&node, &scene);
    threads_are_on(&node, &given);
    another_process_has_the_same(&node, &given);
    scene.delete_pods(["left", "right"]);
}

/// The guest has the driver of DPDK, and no IOMMU.
fn devices_need_an_iommu() {
    let engine = Engine::apply(NAME, &json!({"nics": "PCI"}));
    let message = engine.await_condition("Ready", "False", "IommuOff");
    println!("guest: {message}");
    assert!(message.contains(NAME) && message.contains("intel_iommu=on"), "{message}");
}

/// Returns the NUMA node on which kubelet gave the engine its CPUs.
fn hugepages_of_other_numa_nodes_do_not_count(node: &GuestNode, engine: &Engine) -> u8 {
    let message = engine.await_condition("Ready", "False", "HugepagesOnOtherNUMANode");
    println!("guest: {message}");
    let pod = pod_on(NAME, NAME).unwrap();
    let numa_node = node.numa_node(&node.given(&pod, "engine"));
    assert!(message.contains(NAME) && message.contains(&format!("NUMA node {numa_node},")), "{message}");
    numa_node
}

/// A DPDK program on the CPUs that its container may use.
fn polling_pod(scene: &Scene, name: &str, cpu: &str) -> Value {
    let script = "cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status | sed 's/[,-].*//'); \
                  exec dpdk-testpmd --no-pci --no-huge --no-telemetry --lcores=0@$cpu,1@$cpu -m 64 \
                  --vdev=net_virtio_user1,path=/run/usnet/net1.sock,server=1 -- --forward-mode=flowgen \
                  --stats-period=1 --auto-start --total-num-mbufs=2048 --no-mlockall";
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": scene.name, "annotations": {"k8s.v1.cni.cncf.io/networks": NAME}},
        "spec": {
            "nodeName": NAME,
            "terminationGracePeriodSeconds": 1,
            "containers": [{
                "name": "main", "image": "testpmd:e2e", "imagePullPolicy": "Never", "stdin": true,
                "command": ["sh", "-c", script],
                "volumeMounts": [{"name": "usnet", "mountPath": "/run/usnet"}],
                // The requests are the same, so that the class is Guaranteed.
                "resources": {"limits": {"cpu": cpu, "memory": "256Mi"}},
            }],
            "volumes": [{"name": "usnet", "emptyDir": {}}],
        },
    })
}

/// Returns those of the engine.
fn each_has_the_cpus_that_kubelet_gave(node: &GuestNode, scene: &Scene) -> BTreeSet<u16> {
    let engine = pod_on(NAME, NAME).unwrap();
    let left = get(&["pod", "left", "-n", &scene.name]).unwrap();
    for pod in [&engine, &left] {
        assert_eq!(pod["status"]["qosClass"], "Guaranteed", "{pod}");
    }
    let of_engine = node.given(&engine, "engine");
    let of_left = node.given(&left, "main");
    println!("guest: kubelet gave the engine the CPUs {of_engine:?} and another pod {of_left:?}");
    assert_eq!((of_engine.len(), of_left.len()), (2, 1));
    assert!(of_engine.is_disjoint(&of_left), "{of_engine:?} {of_left:?}");

    let uid = |pod: &Value| pod["metadata"]["uid"].as_str().unwrap().to_owned();
    let processes = node.processes_of_pods();
    let of = |pod: &Value| processes.iter().filter(|(name, _)| name.contains(&uid(pod))).collect::<Vec<_>>();
    assert!(of(&engine).len() > 2 && of(&engine).iter().all(|(_, used)| used.is_subset(&of_engine)), "{processes:?}");
    assert!(!of(&left).is_empty() && of(&left).iter().all(|(_, used)| *used == of_left), "{processes:?}");
    let others = processes.iter().filter(|(name, _)| !name.contains(&uid(&engine)));
    for (process, used) in others {
        assert!(used.is_disjoint(&of_engine), "{process} may use {used:?}");
    }
    of_engine
}

/// The first CPU is for the main thread, and the second for polling; others, which DPDK starts and
/// which rarely have work, are on one of these.
fn threads_are_on(node: &GuestNode, given: &BTreeSet<u16>) {
    let threads = node.switch_threads();
    let (main, polling) = (given.first().unwrap(), given.last().unwrap());
    let on = |cpu: &u16| BTreeSet::from([*cpu]);
    let of = |start: &'static str| {
        threads.iter().filter(move |(name, _)| name.starts_with(start)).map(|(_, used)| used.clone())
    };
    assert_eq!(of("ovs-vswitchd").collect::<Vec<_>>(), [on(main)], "{threads:?}");
    assert_eq!(of("pmd-c").collect::<Vec<_>>(), [on(polling)], "{threads:?}");
    assert!(threads.iter().all(|(_, used)| used.is_subset(given)), "{threads:?}");
    let shown = node.appctl("dpif-netdev/pmd-rxq-show");
    let numa_node = node.numa_node(given);
    assert!(shown.contains(&format!("pmd thread numa_id {numa_node} core_id {polling}:")), "{shown}");
    println!("guest: {} threads of ovs-vswitchd: {threads:?}\n{shown}", threads.len());
}

/// After the switch was killed.
fn another_process_has_the_same(node: &GuestNode, given: &BTreeSet<u16>) {
    let (before, free) = (node.switch(), node.free_hugepages());
    node.run(&format!("kill -9 {before}"));
    let killed = Instant::now();
    eventually("another switch with a polling thread", || {
        let (now, threads) = (node.switch(), node.switch_threads());
        check(now != before && threads.iter().any(|(name, _)| name.starts_with("pmd-c")), format!("{threads:?}"))
    });
    println!("guest: a killed switch polls again after {:.1} s", killed.elapsed().as_secs_f64());
    threads_are_on(node, given);
    assert_eq!(node.free_hugepages(), free);
}
