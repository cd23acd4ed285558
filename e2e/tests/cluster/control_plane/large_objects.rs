//! Metadata that tenants write into their objects does not use memory of the controllers:
//! `USNET_LARGE_OBJECTS` attachments of 730 KB, and definitions of a megabyte.

use crate::support::cluster::{apply, check, eventually, eventually_within, get, kubectl, on_node, timeout, try_run};
use crate::support::control_plane::controllers::{NAMESPACE, await_both, leader, process};
use crate::support::scene::{Scene, wait_ready};
use serde_json::{Map, Value, json};
use std::thread;
use std::time::{Duration, Instant};
use usnet_e2e::host::wait::scaled;

/// Requests at the same time: the API server reads and checks megabytes.
const WRITERS: usize = 4;
/// The policy that refuses such attachments.
const POLICY: &str = "usnet-size-of-attachments";
/// The most memory that a controller may have had meanwhile more than before, in kB: a third of
/// what thirty such objects took.
const MORE_MAX: u64 = 40 * 1024;
/// How long another network may take to become Ready meanwhile. The test prints how long it took:
/// this is no measurement, because a second test bed has the processors as well.
const READY: Duration = Duration::from_secs(10);
/// The limit in `config/controller`, in kB.
const LIMIT: u64 = 256 * 1024;

/// Members of 300 bytes each. The API server adds as much to `managedFields`.
fn members(count: usize, value: &str) -> Map<String, Value> {
    let key = |number| format!("example-{}.com/{}{number:06}", "k".repeat(190), "n".repeat(50));
    (0..count).map(|number| (key(number), json!(value))).collect()
}

fn attachment(scene: &Scene, number: usize) -> Value {
    json!({
        "apiVersion": "usnet.dev/v1alpha1", "kind": "UserspaceAttachment",
        "metadata": {
            "name": format!("large-{number}"), "namespace": scene.name,
            "labels": members(700, &"v".repeat(60)), "annotations": members(600, &"v".repeat(100)),
        },
        "spec": {"pod": "nowhere", "network": "nowhere", "interface": "net7"},
    })
}

fn definition(scene: &Scene, number: usize) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": format!("large-{number}"), "namespace": scene.name},
        "spec": {"config": json!({"type": "userspace", "name": "x".repeat(1_300_000)}).to_string()},
    })
}

fn create_all(count: usize, object: impl Fn(usize) -> Value + Sync) {
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let object = &object;
            scope.spawn(move || {
                // Ten in one call of kubectl.
                let own: Vec<usize> = (0..count).filter(|number| number % WRITERS == writer).collect();
                for some in own.chunks(10) {
                    let list = json!({
                        "apiVersion": "v1", "kind": "List", "items": some.iter().map(|number| object(*number)).collect::<Vec<_>>(),
                    });
                    try_run("kubectl", &["create", "-f", "-"], &list.to_string()).unwrap();
                }
            });
        }
    });
}

/// Memory of a process in kB.
fn memory(pid: &str, what: &str) -> u64 {
    let text = on_node("node-a", &["sh", "-c", &format!("sed -n 's/^{what}: *//p' /proc/{pid}/status")]);
    text.trim().trim_end_matches(" kB").parse().unwrap_or_else(|_| panic!("{what} of {pid}: {text}"))
}

fn controllers() -> Vec<String> {
    let pods = get(&["pods", "-n", NAMESPACE, "-l", "app.kubernetes.io/component=controller"]).unwrap();
    let names =
        pods["items"].as_array().unwrap().iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned());
    names.collect()
}

/// A policy without its binding, until this is dropped.
struct WithoutPolicy(Value);

impl WithoutPolicy {
    fn new() -> Self {
        let binding = get(&["validatingadmissionpolicybinding", POLICY]).expect("config/ is applied");
        kubectl(&["delete", "validatingadmissionpolicybinding", POLICY]);
        Self(json!({
            "apiVersion": binding["apiVersion"], "kind": binding["kind"], "metadata": {"name": POLICY},
            "spec": binding["spec"],
        }))
    }
}

impl Drop for WithoutPolicy {
    fn drop(&mut self) {
        apply(&self.0);
    }
}

fn a_controller_that_lists_them_stays_small(before: u64) {
    let standby = controllers().into_iter().find(|pod| *pod != leader()).unwrap();
    kubectl(&["delete", "pod", &standby, "-n", NAMESPACE, "--grace-period=1"]);
    eventually_within(Duration::from_secs(60), "another controller", || {
        let pods = controllers();
        check(pods.len() == 2 && !pods.contains(&standby), format!("{pods:?}"))
    });
    await_both();
    let new = controllers().into_iter().find(|pod| *pod != leader()).unwrap();
    let most = memory(&process(&new), "VmHWM");
    println!("a controller that listed them: at most {most} kB");
    assert!(most < before + MORE_MAX && most < LIMIT, "{most} kB");
}

#[test]
#[ignore = "long: make nightly"]
fn memory_does_not_grow_with_the_metadata_of_objects_and_networks_become_ready() {
    let count = std::env::var("USNET_LARGE_OBJECTS").ok().and_then(|text| text.parse().ok()).unwrap_or(30);
    let scene = Scene::new("large");
    await_both();
    let refused = try_run("kubectl", &["create", "-f", "-"], &attachment(&scene, 0).to_string()).unwrap_err();
    assert!(refused.contains("a UserspaceAttachment may have 32"), "{refused}");
    let before: Vec<(String, u64)> = controllers()
        .into_iter()
        .map(|pod| {
            let pid = process(&pod);
            // From now on the most memory is counted.
            on_node("node-a", &["sh", "-c", &format!("echo 5 >/proc/{pid}/clear_refs")]);
            let size = memory(&pid, "VmRSS");
            (pid, size)
        })
        .collect();
    let policy = WithoutPolicy::new();
    eventually("the policy is not in force", || {
        let dry_run = ["create", "--dry-run=server", "-f", "-"];
        try_run("kubectl", &dry_run, &attachment(&scene, 0).to_string()).map(drop)
    });
    let started = Instant::now();
    create_all(count, |number| attachment(&scene, number));
    create_all(count / 4, |number| definition(&scene, number));
    let stored = kubectl(&["get", "usna", "large-0", "-n", &scene.name, "-o", "json", "--show-managed-fields"]).len();
    println!(
        "{count} attachments of {stored} bytes and {} definitions were created in {:?}",
        count / 4,
        started.elapsed()
    );
    assert!(stored > 700_000, "{stored}");
    drop(policy);

    let started = Instant::now();
    scene.apply_network("large-other", &json!({}));
    wait_ready("large-other");
    println!("another network is Ready after {:?}", started.elapsed());
    assert!(started.elapsed() < scaled(READY), "{:?}", started.elapsed());
    for (pid, before) in &before {
        let most = memory(pid, "VmHWM");
        println!("a controller that saw them come: {before} kB before, at most {most} kB");
        assert!(most < before + MORE_MAX && most < LIMIT, "{most} kB, {before} kB before");
    }

    a_controller_that_lists_them_stays_small(before[0].1);
    kubectl(&["delete", "usna,net-attach-def", "--all", "-n", &scene.name, timeout()]);
}
