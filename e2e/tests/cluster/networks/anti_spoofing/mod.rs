//! Pods on networks with `antiSpoofing`: what they may send arrives, and nothing else does, also
//! after what goes wrong.

mod frames;

use crate::support::cluster::{apply, check, eventually, on_node, run, vsctl};
use crate::support::kubectl_usnet::ask;
use crate::support::pod_endpoint::PodEndpoint;
use crate::support::pods::{NODE, pod_without_volume, sleeping_pod, start};
use crate::support::scene::{Scene, wait_ready};
use crate::support::station::Station;
use crate::support::vpp;
use frames::{Ends, FORGED, OWN, Table};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use usnet_test_abuse::send;

const PODS: [&str; 3] = ["a", "b", "c"];

/// A network whose pods have the addresses of the frames.
fn spec(scene: &str, (engine, port): (&str, &str), anti_spoofing: &str) -> Value {
    let attachment = |(number, pod): (usize, &str)| {
        let ips = [format!("10.9.0.{}/24", 10 + number), format!("fd09::{pod}/64")];
        json!({"namespace": scene, "pod": pod, "ips": ips, "mac": format!("02:00:00:00:00:0{pod}")})
    };
    let attachments: Vec<Value> = PODS.into_iter().enumerate().map(attachment).collect();
    json!({"engine": engine, "port": {"type": port, "antiSpoofing": anti_spoofing}, "attachments": attachments})
}

/// The frames that no table of VPP can tell from what pod a may send.
const PASSING_VPP: [&str; 3] = ["IPv4 own, total length too short", "NA own, tll of c", "NS own, sll of c"];
/// The tables of a port with addresses of both families, and of one with a MAC address alone. The
/// first table of the latter stays in front of the others.
const TABLES: [(&str, usize); 4] = [("Address", 13), ("Off", 0), ("MAC", 2), ("Address", 1 + 13)];

/// How often the switch is restarted under attack.
const RESTARTS: usize = 3;

/// A thread in pod a that sends all forged frames again and again.
struct Attack {
    has_ended: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
}

impl Attack {
    fn start(pods: &Pods) -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let (is_over, frames) = (Arc::clone(&has_ended), Arc::clone(&pods.table.forged));
        let thread = Station::of_pod(&pods.scene, "a").run(move || {
            let mut sent = 0;
            while !is_over.load(Ordering::Relaxed) {
                send(None, "net1", &frames).unwrap();
                sent += frames.len();
                // The rest of the node needs its cores.
                thread::sleep(Duration::from_millis(2));
            }
            sent
        });
        Self { has_ended, thread }
    }

    /// Returns the number of frames that were sent.
    fn end(self) -> usize {
        self.has_ended.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Three pods on one node.
struct Pods {
    scene: Scene,
    name: &'static str,
    /// The engine, and the type of port.
    kind: (&'static str, &'static str),
    table: Table,
    ends: Ends,
}

/// Starts the three pods on a network of the scene's name.
fn start_pods(name: &'static str, kind: (&str, &str)) -> Scene {
    let scene = Scene::new(name);
    scene.network(name, &spec(name, kind, "Address"));
    let pod = if kind.1 == "Veth" { pod_without_volume } else { sleeping_pod };
    PODS.iter().for_each(|it| start(&scene, &pod(&scene, it, name)));
    scene
}

impl Pods {
    fn start(name: &'static str, port: &'static str) -> Self {
        Self::of(start_pods(name, ("OVS", port)), name, ("OVS", port))
    }

    /// Takes the place of the programs of these pods.
    fn of(scene: Scene, name: &'static str, kind: (&'static str, &'static str)) -> Self {
        let mut ends: Vec<PodEndpoint> = PODS.iter().map(|it| PodEndpoint::open(&scene, it, kind.1)).collect();
        let others = ends.split_off(1);
        let ends = Ends { from: ends.remove(0), others, forged: BTreeSet::new() };
        Self { scene, name, kind, table: Table::read(), ends }
    }

    /// The forged frames that pass although they are checked.
    fn passing(&self) -> BTreeSet<String> {
        PASSING_VPP.into_iter().filter(|_| self.kind.0 == "VPP").map(str::to_owned).collect()
    }

    fn own(&mut self) -> BTreeSet<String> {
        self.ends.arriving(&self.table, &self.table.own)
    }

    fn forged(&mut self) -> BTreeSet<String> {
        self.ends.arriving(&self.table, &self.table.forged)
    }

    /// What pod a may send arrives, and nothing else does.
    #[track_caller]
    fn are_guarded(&mut self, when: &str) {
        eventually(&format!("{when}: all that pod a may send arrives"), || {
            let arrived = self.own();
            check(arrived.len() == OWN, format!("{arrived:?}"))
        });
        assert_eq!(self.forged(), self.passing(), "{when}: forged frames arrived");
    }

    fn set(&self, anti_spoofing: &str) {
        self.scene.network(self.name, &spec(self.name, self.kind, anti_spoofing));
        wait_ready(self.name);
    }

    /// Pod a may use an address of no pod, and be a virtual router, while its entry says so.
    fn pairs_are_followed(&mut self) {
        let mut spec = spec(self.name, self.kind, "Address");
        let pairs = json!([{"ip": "10.9.0.99"}, {"ip": "10.9.0.100", "mac": "00:00:5e:00:01:05"}]);
        spec["attachments"][0]["allowedAddressPairs"] = pairs;
        self.scene.network(self.name, &spec);
        let mut expected = self.passing();
        expected.extend(["IPv4 of no pod", "VRRP, virtual MAC"].map(str::to_owned));
        eventually("what address pairs allow arrives, and nothing else", || {
            let arrived = self.forged();
            check(arrived == expected, format!("{arrived:?}"))
        });
        self.set("Address");
        eventually("nothing of it arrives without the pairs", || {
            let arrived = self.forged();
            check(arrived == self.passing(), format!("{arrived:?}"))
        });
        self.are_guarded("address pairs that were removed");
    }

    fn bridge(&self) -> String {
        format!("br-{}", self.name)
    }
}

fn flows(bridge: &str) -> String {
    on_node(NODE, &["ovs-ofctl", "-O", "OpenFlow14", "dump-flows", bridge])
}

#[test]
fn nothing_forged_leaves_a_kernels_port_whatever_happens_to_flows_and_switch() {
    let mut pods = Pods::start("guarded", "Veth");
    pods.are_guarded("new ports");

    // It shows what happens while it runs.
    let attack = Attack::start(&pods);
    eventually("frames that are refused are counted", || {
        let (_, report) = ask(&["top"]);
        check(report.to_string().contains("\"anti_spoofing\":"), report.to_string())
    });
    attack.end();

    let bridge = pods.bridge();
    on_node(NODE, &["ovs-ofctl", "del-flows", &bridge]);
    assert_eq!(pods.forged(), BTreeSet::new(), "without flows");
    pods.are_guarded("flows that were deleted");

    on_node(NODE, &["ovs-ofctl", "add-flow", &bridge, "priority=65000,actions=normal"]);
    eventually("a flow of others is deleted", || {
        let found = flows(&bridge);
        check(!found.contains("priority=65000"), found)
    });
    pods.are_guarded("a flow of others");

    vsctl(NODE, &["--no-wait", "set", "Bridge", &bridge, "fail_mode=standalone"]);
    eventually("the mode is repaired", || {
        let mode = vsctl(NODE, &["get", "Bridge", &bridge, "fail_mode"]);
        check(mode == "secure", mode)
    });
    pods.are_guarded("another mode of the bridge");

    let attack = Attack::start(&pods);
    for _ in 0..RESTARTS {
        run("component", &["stop", "ovs-vswitchd", NODE]);
        run("component", &["start", "ovs-vswitchd", NODE]);
        let started = Instant::now();
        eventually("what pod a may send arrives after a restart", || {
            let arrived = pods.own();
            check(arrived.len() == OWN, format!("{arrived:?}"))
        });
        println!("after a restart: {:.1} s until all that is allowed arrives", started.elapsed().as_secs_f64());
    }
    let sent = attack.end();
    println!("{sent} forged frames were sent during {RESTARTS} restarts");
    assert!(sent > FORGED * RESTARTS);
    pods.are_guarded("a switch that was restarted");
    assert_eq!(pods.ends.forged, BTreeSet::new(), "forged frames arrived during a restart");
    pods.scene.delete_pods(PODS);
}

#[test]
fn nothing_forged_leaves_a_programs_port_and_rules_change_under_it() {
    rules_change_under_programs(Pods::start("guarded-program", "VhostUser"));
}

fn rules_change_under_programs(mut pods: Pods) {
    pods.are_guarded("new ports");
    pods.set("Off");
    eventually("everything arrives that the switch forwards", || {
        let arrived = pods.forged();
        check(arrived.len() > FORGED / 2, format!("{arrived:?}"))
    });
    pods.set("MAC");
    eventually("no frame of another MAC address arrives", || {
        let arrived = pods.forged();
        let of_others: Vec<_> = arrived.iter().filter(|name| name.starts_with("MAC of")).collect();
        check(of_others.is_empty() && arrived.contains("IPv4 of c"), format!("{arrived:?}"))
    });
    pods.set("Address");
    pods.are_guarded("rules that are back");
    pods.pairs_are_followed();
    drop(pods.ends);
    pods.scene.delete_pods(PODS);
}

/// The simulator of VPP shows which tables each port has; frames need a real one.
#[test]
fn ports_of_vpp_have_their_tables_and_nothing_forged_leaves_them() {
    let (name, kind) = ("guarded-vpp", ("VPP", "Memif"));
    let scene = start_pods(name, kind);
    for (anti_spoofing, count) in TABLES {
        scene.network(name, &spec(name, kind, anti_spoofing));
        eventually(&format!("{anti_spoofing}: each port has {count} tables"), || {
            let found: Vec<usize> =
                vpp::await_ports(NODE, name, PODS.len()).iter().map(|port| vpp::tables(NODE, port).len()).collect();
            check(found == [count; PODS.len()], format!("{found:?}"))
        });
    }
    if vpp::moves_packets("forged frames") {
        rules_change_under_programs(Pods::of(scene, name, kind));
    } else {
        scene.delete_pods(PODS);
    }
    eventually("tables go with their ports", || {
        let left = vpp::all_tables(NODE);
        check(left.is_empty(), format!("{left:?}"))
    });
}

#[test]
fn a_pod_without_an_address_is_refused_where_only_addresses_may_send() {
    let scene = Scene::new("unaddressed");
    scene.network("unaddressed", &json!({"port": {"antiSpoofing": "Address"}}));
    apply(&sleeping_pod(&scene, "pod", "unaddressed"));
    scene.await_refusal("pod", &["antiSpoofing", "spec.ipam"]);
    scene.delete_pods(["pod"]);
}
