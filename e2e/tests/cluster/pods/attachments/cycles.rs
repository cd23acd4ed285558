//! The same interfaces plugged and unplugged again and again, `USNET_HOT_PLUG_CYCLES` times.

use super::{assert_nothing_left, attachment, await_ready, status, unplug};
use crate::support::cluster::{apply, eventually, on_node, try_run};
use crate::support::pods::{NODE, sleeping_pod, start, uid};
use crate::support::scene::Scene;
use serde_json::json;
use std::time::{Duration, Instant};

/// What a pod has: records and their index, mounts, files, ports of both bridges, addresses.
fn inventory(pod: &str) -> String {
    let script = format!(
        "cd /var/lib/usnet; grep -ls {pod} attachments/*; \
         for c in $(grep -ls {pod} attachments/* | sed 's,.*/,,; s,[.].*,,' | sort -u); do find index | grep $c; done | sort; \
         grep {pod} /proc/self/mountinfo | cut -d' ' -f5; ls /run/usnet/ports/{pod}; \
         ovs-vsctl list-ports br-cycle-vhost; ovs-vsctl list-ports br-cycle-veth; ls /var/lib/cni/networks/cycle-veth"
    );
    on_node(NODE, &["sh", "-c", &script])
}

fn summary(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let of = |part: usize| times.get((times.len() * part / 100).min(times.len() - 1)).copied().unwrap_or_default();
    println!("{what}, {} cycles: median {:?}, 95 % {:?}, longest {:?}", times.len(), of(50), of(95), of(100));
}

#[test]
fn interfaces_are_plugged_and_unplugged_many_times_and_leave_nothing() {
    let cycles = std::env::var("USNET_HOT_PLUG_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let scene = Scene::new("cycle");
    let ipam = json!({"type": "host-local", "ranges": [[{"subnet": "10.78.0.0/24"}]]});
    scene.network("cycle-vhost", &json!({}));
    scene.network("cycle-veth", &json!({"port": {"type": "Veth"}, "ipam": ipam}));
    start(&scene, &sleeping_pod(&scene, "peer", "cycle-veth"));
    start(&scene, &sleeping_pod(&scene, "plugged", "cycle-vhost"));
    let peer = crate::support::station::Station::of_pod(&scene, "peer").address;
    let pod = uid(&scene, "plugged");
    let before = inventory(&pod);
    assert!(before.lines().count() > 5, "{before}");
    let (mut ready, mut answered, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..cycles {
        let started = Instant::now();
        let items = [("socket", "cycle-vhost", "net7"), ("device", "cycle-veth", "net8")]
            .map(|(name, network, interface)| attachment(&scene, name, "plugged", network, interface));
        apply(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
        await_ready(&scene, &["socket", "device"]);
        ready.push(started.elapsed());
        let ping = format!("busybox ping -c 1 -W 1 -I net8 {peer}");
        eventually("an answer", || {
            try_run("kubectl", &["exec", "plugged", "-n", &scene.name, "--", "busybox", "sh", "-c", &ping], "")
        });
        answered.push(started.elapsed());
        assert_eq!(status(&scene, "socket")["socket"], "net7.sock");
        gone.push(unplug(&scene, &["socket", "device"]));
    }
    assert_eq!(inventory(&pod), before);
    assert_nothing_left(&scene);
    summary("object to Ready, two interfaces", ready);
    summary("object to the first answer over the Veth", answered);
    summary("deletion", gone);
}
