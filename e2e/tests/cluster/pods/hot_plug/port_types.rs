//! Each type of port of each engine, plugged and unplugged again and again: no packets before, all
//! packets after, and nothing left. `USNET_HOT_PLUG_CYCLES` sets how often; the times are printed.

use super::{HotPlug, await_gone, element, ports, remains, tools_pod};
use crate::support::cluster::{apply, check, eventually, on_node, vsctl};
use crate::support::pods::{NODE, in_pod, pod_without_volume, uid, wait_running};
use crate::support::scene::wait_ready;
use crate::support::tools::run_tool;
use crate::support::vpp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

/// Echo requests that are sent, and replies that are expected.
const PACKETS: u64 = 20;
const PEER: &str = "10.71.0.10";
const ADDRESS: &str = "10.71.0.7";
const MAC: &str = "02:71:00:00:00:07";

/// A type of port of an engine.
struct Kind {
    engine: &'static str,
    port: &'static str,
    /// How the engine has the frames of kernel ports, where that can be chosen.
    datapath: Option<&'static str>,
}

const KINDS: [Kind; 6] = [
    Kind { engine: "OVS", port: "VhostUser", datapath: None },
    Kind { engine: "OVS", port: "Veth", datapath: Some("Kernel") },
    Kind { engine: "OVS", port: "Veth", datapath: Some("AFXDP") },
    Kind { engine: "VPP", port: "Memif", datapath: None },
    Kind { engine: "VPP", port: "VhostUser", datapath: None },
    Kind { engine: "VPP", port: "Veth", datapath: None },
];

impl Kind {
    /// The type of port, and the datapath.
    fn name(&self) -> String {
        self.datapath.map_or_else(|| self.port.to_owned(), |datapath| format!("{}-{datapath}", self.port))
    }

    fn network(&self) -> String {
        format!("plug-{}-{}", self.engine, self.name()).to_lowercase()
    }

    fn spec(&self) -> Value {
        let mut spec = json!({"engine": self.engine, "port": {"type": self.port}});
        if let Some(datapath) = self.datapath {
            spec["port"]["veth"] = json!({"datapath": datapath});
        }
        spec
    }

    fn is_of_kernel(&self) -> bool {
        self.port == "Veth"
    }

    /// The pod that gets the interface, and what it has before.
    fn pod(&self) -> (&'static str, Vec<Value>) {
        if self.is_of_kernel() { ("kernel", Vec::new()) } else { ("sockets", vec![element("plug-base", "net1")]) }
    }

    fn peer(&self) -> String {
        format!("peer-{}-{}", self.engine, self.name()).to_lowercase()
    }

    fn manifest_of_peer(&self, plug: &HotPlug) -> Value {
        let mut at = element(&self.network(), "net1");
        at["ips"] = json!([format!("{PEER}/24")]);
        match self.is_of_kernel() {
            true => pod_without_volume(&plug.scene, &self.peer(), &json!([at]).to_string()),
            false => tools_pod(&plug.scene, &self.peer(), &[at]),
        }
    }

    /// How many of so many echo requests were answered.
    fn answered(&self, plug: &HotPlug, count: u64) -> Result<u64, String> {
        let (scene, pod) = (&plug.scene, self.pod().0);
        if self.is_of_kernel() {
            let script = format!("busybox ping -c {count} -i 0.02 -W 5 -I net7 {PEER} 2>&1; true");
            let answer = in_pod(scene, pod, &script);
            let received = answer.lines().find_map(|line| line.split(", ").nth(1)?.strip_suffix(" packets received"));
            return received.and_then(|count| count.parse().ok()).ok_or(answer);
        }
        let command = ["--interface=net7", "ping", PEER, &format!("--count={count}"), "--interval=10"];
        let answer = run_tool(scene, pod, &command)?;
        answer["received"].as_u64().ok_or_else(|| answer.to_string())
    }

    /// Waits for the first answer: in the pod where it has a shell, because a call of `kubectl`
    /// takes a tenth of a second.
    fn await_answer(&self, plug: &HotPlug) {
        if self.is_of_kernel() {
            let ping = format!("busybox ping -c 1 -W 1 -I net7 {PEER} >/dev/null 2>&1");
            in_pod(&plug.scene, self.pod().0, &format!("until {ping}; do busybox usleep 5000; done"));
        } else {
            eventually("an answered packet", || self.answered(plug, 1));
        }
    }

    /// Whether packets can be counted. If not, this prints what is left out.
    fn moves_packets(&self) -> bool {
        self.engine == "OVS" || vpp::moves_packets(&format!("packets of a {} port that was hot-plugged", self.port))
    }
}

#[test]
fn each_type_of_port_is_plugged_and_unplugged_again_and_again() {
    let Some(plug) = HotPlug::new("plug") else { return };
    let scene = &plug.scene;
    scene.apply_network("plug-base", &json!({}));
    for kind in &KINDS {
        scene.apply_network(&kind.network(), &kind.spec());
    }
    wait_ready("plug-base");
    KINDS.iter().for_each(|kind| wait_ready(&kind.network()));
    apply(&tools_pod(scene, "sockets", &[element("plug-base", "net1")]));
    apply(&pod_without_volume(scene, "kernel", ""));
    KINDS.iter().for_each(|kind| apply(&kind.manifest_of_peer(&plug)));
    ["sockets", "kernel"].iter().for_each(|pod| wait_running(scene, pod));
    KINDS.iter().for_each(|kind| wait_running(scene, &kind.peer()));

    let cycles = std::env::var("USNET_HOT_PLUG_CYCLES").map_or(1, |text| text.parse().unwrap());
    let before = inventory();
    for kind in &KINDS {
        let has_packets = kind.moves_packets();
        let ports_before = ports(kind.engine, &kind.network());
        let times: Vec<_> = (0..cycles).map(|_| cycle(&plug, kind, has_packets)).collect();
        assert_eq!(ports(kind.engine, &kind.network()), ports_before);
        report(&plug, kind, has_packets, times);
    }
    assert_eq!(inventory(), before, "what the node has is as before");
}

/// What the node has, by name, but for folders of devices, which these pods have none of: those of
/// an earlier test may go meanwhile.
fn inventory() -> BTreeSet<String> {
    let script = "awk '/\\/run\\/usnet/ && $5 !~ /usnet\\/devices/ {print \"mount\", $5, ++seen[$5]}' /proc/self/mountinfo; ip -o link | cut -d: -f2; \
        ls -A /var/lib/usnet/attachments /run/usnet/ports /run/netns /var/lib/cni/multus; \
        ovs-vsctl --bare --columns=name list Port; ovs-vsctl --bare --columns=name list Interface; \
        ls /var/run/k8s.cni.cncf.io/devinfo/* 2>/dev/null; true";
    on_node(NODE, &["sh", "-c", script]).lines().map(str::to_owned).collect()
}

/// Plugs and unplugs an interface once. Returns the time from the change of the annotation to the
/// first answered packet or, where packets cannot be counted, to the status.
fn cycle(plug: &HotPlug, kind: &Kind, has_packets: bool) -> Duration {
    let (pod, base) = kind.pod();
    assert!(kind.answered(plug, 1).unwrap_err().contains("net7"), "there is no such interface");
    let mut plugged = element(&kind.network(), "net7");
    plugged["ips"] = json!([format!("{ADDRESS}/24")]);
    plugged["mac"] = json!(MAC);
    let begun = Instant::now();
    let to_packet = thread::scope(|scope| {
        let answer = scope.spawn(|| {
            if has_packets {
                kind.await_answer(plug);
            }
            begun.elapsed()
        });
        plug.select(pod, &base.iter().cloned().chain([plugged]).collect::<Vec<_>>());
        answer.join().unwrap()
    });
    let status = plug.await_present(pod, "net7");
    let took = if has_packets { to_packet } else { begun.elapsed() };
    assert_eq!((&status["mac"], &status["ips"]), (&json!(MAC), &json!([ADDRESS])));
    assert!(remains(&uid(&plug.scene, pod), "net7").contains("net7.json"));
    if kind.datapath == Some("AFXDP") {
        let ports = vsctl(NODE, &["--bare", "--columns=name", "find", "Interface", "type=afxdp"]);
        assert_eq!(ports.split_whitespace().count(), 2, "the pod and its peer: {ports}");
    }
    if has_packets {
        // A busy machine may delay some of them for too long.
        eventually("each packet is answered", || {
            let answered = kind.answered(plug, PACKETS)?;
            check(answered == PACKETS, format!("{answered} of {PACKETS}"))
        });
    }
    plug.select(pod, &base);
    plug.await_absent(pod, "net7");
    await_gone(&plug.scene, pod, "net7");
    took
}

fn report(plug: &HotPlug, kind: &Kind, has_packets: bool, mut times: Vec<Duration>) {
    times.sort_unstable();
    let (count, median, max) = (times.len(), times[times.len() / 2].as_millis(), times[times.len() - 1].as_millis());
    let (engine, port) = (kind.engine, kind.name());
    let packets = format!("0 packets before, {PACKETS} of {PACKETS} answered after; from the annotation to a packet");
    let what = if has_packets { packets.as_str() } else { "from the annotation to the status" };
    println!(
        "{engine} {port}, {count} cycles by {}, nothing left: {what}: median {median} ms, max {max} ms",
        plug.controller.name()
    );
}
