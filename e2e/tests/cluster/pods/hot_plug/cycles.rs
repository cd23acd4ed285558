//! One interface plugged and unplugged again and again, and how long it takes from the change of
//! the annotation to the first answered packet. `USNET_HOT_PLUG_CYCLES` sets how often.

use super::{HotPlug, await_gone, element, ports, tools_pod};
use crate::support::cluster::{eventually, on_node};
use crate::support::pods::{NODE, in_pod, pod_without_volume, start, uid};
use crate::support::scene::wait_ready;
use crate::support::tools::ask;
use crate::support::vpp;
use serde_json::{Value, json};
use std::thread;
use std::time::{Duration, Instant};

const PEER: &str = "10.72.0.10";

fn cycles() -> usize {
    std::env::var("USNET_HOT_PLUG_CYCLES").map_or(2, |text| text.parse().unwrap())
}

/// A type of port of an engine.
struct Kind {
    engine: &'static str,
    port: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind { engine: "OVS", port: "VhostUser" },
    Kind { engine: "VPP", port: "Memif" },
    Kind { engine: "OVS", port: "Veth" },
];

impl Kind {
    fn network(&self) -> String {
        format!("cycle-{}-{}", self.engine, self.port).to_lowercase()
    }

    fn is_of_kernel(&self) -> bool {
        self.port == "Veth"
    }

    /// Waits for the first answer. In the pod where it has a shell, because a call of `kubectl`
    /// takes a tenth of a second.
    fn await_packet(&self, plug: &HotPlug, pod: &str) {
        if self.is_of_kernel() {
            let script =
                format!("until busybox ping -c 1 -W 1 -I net7 {PEER} >/dev/null 2>&1; do busybox usleep 5000; done");
            in_pod(&plug.scene, pod, &script);
            return;
        }
        let command = ["--interface", "net7", "ping", PEER, "--count=1", "--timeout=500"];
        eventually("an answered packet", || ask(&plug.scene, pod, &command));
    }
}

/// How many of each thing the node has.
fn inventory() -> String {
    let script = "ls /var/lib/usnet/attachments | wc -l; grep -c /run/usnet /proc/self/mountinfo; ls -A /run/usnet/ports | wc -l; \
        ip -o link | wc -l; ovs-vsctl list-br | wc -l; ovs-vsctl --bare --columns=_uuid list Port | wc -w; ls /run/netns | wc -l; \
        ls /var/run/k8s.cni.cncf.io/devinfo/* 2>/dev/null | wc -l; ls /var/lib/cni/multus | wc -l";
    on_node(NODE, &["sh", "-c", script]).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_interface_is_plugged_and_unplugged_again_and_again() {
    let Some(plug) = HotPlug::new("cycle") else { return };
    let scene = &plug.scene;
    scene.apply_network("cycle-base", &json!({}));
    for kind in &KINDS {
        scene.apply_network(&kind.network(), &json!({"engine": kind.engine, "port": {"type": kind.port}}));
    }
    wait_ready("cycle-base");
    for kind in &KINDS {
        wait_ready(&kind.network());
        run(&plug, kind);
    }
}

fn run(plug: &HotPlug, kind: &Kind) {
    let scene = &plug.scene;
    let network = kind.network();
    let base: Vec<Value> = if kind.is_of_kernel() { Vec::new() } else { vec![element("cycle-base", "net1")] };
    let at = |interface: &str, address: &str| json!({"name": network, "interface": interface, "ips": [format!("{address}/24")]});
    if kind.is_of_kernel() {
        start(scene, &pod_without_volume(scene, "hot", ""));
        start(scene, &pod_without_volume(scene, "peer", &json!([at("net1", PEER)]).to_string()));
    } else {
        start(scene, &tools_pod(scene, "hot", &base));
        start(scene, &tools_pod(scene, "peer", &[at("net1", PEER)]));
    }
    let has_packets = kind.engine == "OVS" || vpp::moves_packets("packets of cycles");
    let (before, uid) = (inventory(), uid(scene, "hot"));
    let ports_before = ports(kind.engine, &network);
    let plugged: Vec<Value> = base.iter().cloned().chain([at("net7", "10.72.0.7")]).collect();
    let mut times = Vec::new();
    for _ in 0..cycles() {
        let begun = Instant::now();
        let time = thread::scope(|scope| {
            let packet = scope.spawn(|| {
                if has_packets {
                    kind.await_packet(plug, "hot");
                }
                begun.elapsed()
            });
            plug.select("hot", &plugged);
            packet.join().unwrap()
        });
        plug.await_present("hot", "net7");
        times.push(if has_packets { time } else { begun.elapsed() });
        plug.select("hot", &base);
        plug.await_absent("hot", "net7");
        await_gone(scene, "hot", "net7");
    }
    assert_eq!((inventory(), ports(kind.engine, &network)), (before, ports_before), "of pod {uid}");
    report(plug, kind, has_packets, times);
    ["hot", "peer"].iter().for_each(|pod| scene.delete_pod(pod));
}

fn report(plug: &HotPlug, kind: &Kind, has_packets: bool, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (median, max) = (times[times.len() / 2], times[times.len() - 1]);
    println!(
        "{} {}: {} cycles by {}, nothing left; from the annotation to {}: median {} ms, max {} ms",
        kind.engine,
        kind.port,
        times.len(),
        plug.controller.name(),
        if has_packets { "the first answered packet" } else { "the status" },
        median.as_millis(),
        max.as_millis(),
    );
}
