//! Figures of resource claims (docs/resource-claims.md), which are measured only if
//! USNET_CLAIM_SPEED is set, because they do not test whether usnet works.

use super::{await_device, await_nothing_left, claiming_pod, devices, network_on_node, template};
use crate::support::cluster::{apply, check, eventually, get, kubectl};
use crate::support::pods::{NODE, pod_without_volume, start, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::time::Instant;

const PODS: usize = 10;

fn is_requested() -> bool {
    let is_requested = std::env::var_os("USNET_CLAIM_SPEED").is_some();
    if !is_requested {
        println!("left out: USNET_CLAIM_SPEED is not set");
    }
    is_requested
}

/// How long ten pods take that start at once, with and without claims.
#[test]
fn ten_pods_at_once() {
    if !is_requested() {
        return;
    }
    let scene = Scene::new("claimspeed");
    scene.network("claimspeed", &network_on_node("OVS", 64));
    await_device(NODE, "claimspeed");
    template(&scene, "port", "claimspeed", &Value::Null);
    for (kind, is_claimed) in [("without", false), ("with", true), ("without", false), ("with", true)] {
        let started = Instant::now();
        let pods: Vec<String> = (0..PODS).map(|index| format!("{kind}-{index}")).collect();
        for name in &pods {
            let mut pod =
                if is_claimed { claiming_pod(&scene, name, "port") } else { pod_without_volume(&scene, name, "") };
            pod["spec"].as_object_mut().unwrap().remove("nodeName");
            pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": NODE});
            apply(&pod);
        }
        pods.iter().for_each(|name| wait_running(&scene, name));
        println!("{PODS} pods {kind} claims: all Ready after {:.1} s", started.elapsed().as_secs_f64());
        scene.delete_pods(pods.iter().map(String::as_str));
    }
}

/// The node has no agent, until this is dropped.
struct WithoutAgent;

impl WithoutAgent {
    fn new() -> Self {
        let term =
            json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": [NODE]}]});
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}});
        patch(&json!({"nodeAffinity": required}));
        let without = Self;
        eventually("the agent is gone", || check(!has_agent(), "it is there"));
        without
    }
}

impl Drop for WithoutAgent {
    fn drop(&mut self) {
        patch(&Value::Null);
    }
}

fn has_agent() -> bool {
    let agents = ["pods", "-n", "usnet-system", "-l", "app.kubernetes.io/component=agent"];
    let on_node = format!("spec.nodeName={NODE}");
    get(&[agents.as_slice(), &["--field-selector", &on_node]].concat()).is_some()
}

fn patch(affinity: &Value) {
    let patch = json!({"spec": {"template": {"spec": {"affinity": affinity}}}}).to_string();
    kubectl(&["patch", "daemonset/usnet-agent", "-n", "usnet-system", "--type=merge", "-p", &patch]);
}

/// How long the scheduler counts on a node whose agent is gone, and a pod waits for its end.
#[test]
fn a_node_without_agent() {
    if !is_requested() {
        return;
    }
    let scene = Scene::new("claimalone");
    scene.network("claimalone", &network_on_node("OVS", 8));
    await_device(NODE, "claimalone");
    template(&scene, "port", "claimalone", &Value::Null);
    start(&scene, &claiming_pod(&scene, "web", "port"));
    let without = WithoutAgent::new();
    let gone = Instant::now();
    kubectl(&["delete", "pod", "web", "-n", &scene.name, "--grace-period=1", "--wait=false"]);
    eventually("the node has no devices", || {
        let found = devices(NODE);
        check(found.is_empty(), format!("{found:?}"))
    });
    println!("devices are gone {:.0} s after the agent", gone.elapsed().as_secs_f64());
    assert!(get(&["pod", "web", "-n", &scene.name]).is_some(), "the pod ended without the agent");
    drop(without);
    eventually("there is an agent again", || check(has_agent(), "none"));
    let back = Instant::now();
    await_device(NODE, "claimalone");
    println!("devices are there again {:.1} s after the next agent was created", back.elapsed().as_secs_f64());
    eventually("the pod ends", || check(get(&["pod", "web", "-n", &scene.name]).is_none(), "it is there"));
    println!("the pod is gone {:.1} s after the next agent was created", back.elapsed().as_secs_f64());
    await_nothing_left(NODE);
}
