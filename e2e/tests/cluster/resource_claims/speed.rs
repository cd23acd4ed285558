//! How long ten pods take that start at once, with and without claims. Only where it is asked for:
//! it says nothing about whether usnet works.

use super::{await_device, here, sleeper, template};
use crate::support::cluster::apply;
use crate::support::pods::{NODE, pod_without_volume, wait_running};
use crate::support::scene::Scene;
use serde_json::{Value, json};
use std::time::Instant;

const PODS: usize = 10;

#[test]
fn ten_pods_at_once() {
    if std::env::var_os("USNET_CLAIM_SPEED").is_none() {
        return;
    }
    let scene = Scene::new("claimspeed");
    scene.network("claimspeed", &here("OVS", 64));
    await_device(NODE, "claimspeed");
    template(&scene, "port", "claimspeed", &Value::Null);
    for (kind, is_claimed) in [("without", false), ("with", true), ("without", false), ("with", true)] {
        let started = Instant::now();
        let pods: Vec<String> = (0..PODS).map(|index| format!("{kind}-{index}")).collect();
        for name in &pods {
            let mut pod = if is_claimed { sleeper(&scene, name, "port") } else { pod_without_volume(&scene, name, "") };
            pod["spec"].as_object_mut().unwrap().remove("nodeName");
            pod["spec"]["nodeSelector"] = json!({"kubernetes.io/hostname": NODE});
            apply(&pod);
        }
        pods.iter().for_each(|name| wait_running(&scene, name));
        println!("{PODS} pods {kind} claims: all Ready after {:.1} s", started.elapsed().as_secs_f64());
        pods.iter().for_each(|name| scene.delete_pod(name));
    }
}
