use super::connection::Target;
use super::facts::{Endpoint, Facts, NoCommonNetwork, common_network};
use super::report::{Outcome, Report};
use super::steps::{no_common_network, report};
use super::text::text;
use crate::model::testing::{
    add, add_network, attached, merge, network_object, network_report, pod_object, snapshot, state_object,
};
use crate::model::{Pod, Snapshot};
use serde_json::{Value, json};
use usnet_node_output::bridge::{BridgeFacts, Overlay, PortFacts};
use usnet_planner::model::learned_mac::{LearnedMac, PortKind};
use usnet_planner::model::port_counters::{PortCounters, Traffic};

/// Where the endpoints are, and what connects them.
#[derive(Clone, Copy, PartialEq)]
enum Location {
    OneNode,
    NodeLocal,
    Uplink,
    Overlay,
}

/// Two pods that exchange packets, and the facts of their nodes.
struct Scene {
    snapshot: Snapshot,
    from: BridgeFacts,
    to: BridgeFacts,
    /// The connection of which policies are asked.
    target: Option<Target>,
}

fn counters(packets: u64) -> PortCounters {
    let traffic = Traffic { packets: Some(packets), bytes: Some(64 * packets), dropped: Some(0), errors: None };
    PortCounters { connected: true, receive: traffic, transmit: traffic, ..PortCounters::default() }
}

fn port(pod: &str, number: u8) -> PortFacts {
    PortFacts {
        pod: format!("web/{pod}"),
        interface: "net1".into(),
        name: format!("vhu0000000000{number}"),
        is_attached: true,
        is_there: true,
        is_connected: true,
        problem: None,
        vlan: "no VLAN".into(),
        recorded_vlan: "no VLAN".into(),
        mtu: Some(1500),
        mac: format!("02:00:00:00:00:0{number}"),
        addresses: Vec::new(),
        counters: counters(10),
        counters_before: counters(8),
    }
}

fn learned(number: u8, at: &str, kind: PortKind) -> LearnedMac {
    let mac = format!("02:00:00:00:00:0{number}");
    LearnedMac { mac, vlan: Some(0), port: at.to_owned(), kind, age_seconds: Some(2) }
}

impl Scene {
    fn new(location: Location) -> Self {
        let mut snapshot = snapshot();
        add_network(&mut snapshot, &network_object("blue", &json!({})));
        let node = if location == Location::OneNode { "node-a" } else { "node-b" };
        add(&mut snapshot, &pod_object("a", &attached()));
        let mut other = pod_object("b", &attached());
        merge(&mut other, &json!({"spec": {"nodeName": node}}));
        add(&mut snapshot, &other);
        let overlay = |local: &str, peer: &str| {
            let peers = [peer.parse().unwrap()].into();
            let overlay = Overlay { local: local.parse().unwrap(), is_multicast: false, peers };
            (location == Location::Overlay).then_some(overlay)
        };
        let facts = |ports, macs, overlay| BridgeFacts {
            is_selected: true,
            has_bridge: true,
            bridge: "br-blue".into(),
            uplink: (location == Location::Uplink).then(|| "up".to_owned()),
            overlay,
            ports,
            macs,
            failures: Vec::new(),
        };
        let (one, other) = (port("a", 1), port("b", 2));
        let (from, to) = if location == Location::OneNode {
            let macs = vec![learned(1, &one.name, PortKind::Pod), learned(2, &other.name, PortKind::Pod)];
            let both = facts(vec![one, other], macs, None);
            (both.clone(), both)
        } else {
            let on_node_a = vec![learned(1, &one.name, PortKind::Pod), learned(2, "usn-1", PortKind::Nodes)];
            let on_node_b = vec![learned(1, "usn-1", PortKind::Nodes), learned(2, &other.name, PortKind::Pod)];
            let from = facts(vec![one], on_node_a, overlay("192.0.2.1", "192.0.2.2"));
            (from, facts(vec![other], on_node_b, overlay("192.0.2.2", "192.0.2.1")))
        };
        let mut scene = Self { snapshot, from, to, target: None };
        if location == Location::Uplink {
            scene.state("node-a", &json!({"uplinks": [uplink("Programmed", "")]}));
            scene.state("node-b", &json!({"uplinks": [uplink("Programmed", "")]}));
        }
        scene
    }

    /// Replaces parts of what an agent reports.
    fn state(&mut self, node: &str, status: &Value) {
        let mut state = state_object(node, &json!([]));
        merge(&mut state, &json!({"status": status}));
        add(&mut self.snapshot, &state);
    }

    /// Changes the ports of a pod in the facts of both nodes.
    fn port(&mut self, pod: &str, change: impl Fn(&mut PortFacts)) {
        let ports = self.from.ports.iter_mut().chain(&mut self.to.ports);
        ports.filter(|port| port.pod == format!("web/{pod}")).for_each(change);
    }

    fn pod(&self, name: &str) -> &Pod {
        self.snapshot.pods.iter().find(|pod| pod.name == name).unwrap()
    }

    fn report(&self) -> Report {
        let end = |name: &str, bridge: &BridgeFacts| Endpoint {
            pod: self.pod(name),
            interface: "net1".to_owned(),
            is_attached: true,
            bridge: Ok(bridge.clone()),
        };
        let facts = Facts { network: "blue".into(), from: end("a", &self.from), to: end("b", &self.to) };
        report(&self.snapshot, &facts, self.target)
    }
}

fn uplink(state: &str, reason: &str) -> Value {
    json!({"name": "up", "generation": 1, "state": state, "reason": reason, "message": "the NIC has no carrier", "nic": "eth1"})
}

#[test]
fn packets_pass_between_pods_that_reach_each_other() {
    for location in [Location::OneNode, Location::Uplink, Location::Overlay] {
        let report = Scene::new(location).report();
        assert_eq!(report.conclusion.cause, "Passes", "{report:#?}");
        assert!(report.steps.iter().all(|step| step.outcome == Outcome::Passed), "{report:#?}");
    }
}

/// A fault in a scene, and its cause.
type Fault = (&'static str, Location, fn(&mut Scene), &'static str);

const FAULTS: [Fault; 20] = [
    ("no program sends", Location::OneNode, |scene| scene.port("a", |port| port.is_connected = false), "NotConnected"),
    (
        "no program receives",
        Location::Overlay,
        |scene| scene.port("b", |port| port.is_connected = false),
        "NotConnected",
    ),
    ("the ring is not drained", Location::OneNode, not_drained, "RingNotDrained"),
    ("a VLAN was changed", Location::OneNode, |scene| scene.port("b", |port| port.vlan = "VLAN 7".into()), "WrongVlan"),
    ("the VLANs differ", Location::OneNode, vlans_differ, "VlansDiffer"),
    ("an MTU is outdated", Location::Uplink, |scene| scene.port("a", |port| port.mtu = Some(9000)), "MtuDiffers"),
    (
        "learned at another pod",
        Location::OneNode,
        |scene| scene.from.macs[1].port = "vhu99999999999".into(),
        "LearnedElsewhere",
    ),
    (
        "learned on the node of the sender",
        Location::Overlay,
        |scene| scene.from.macs[1].kind = PortKind::Pod,
        "LearnedElsewhere",
    ),
    ("the network does not connect nodes", Location::NodeLocal, |_| {}, "NodeLocal"),
    ("a peer is unknown", Location::Overlay, |scene| unknown_peer(&mut scene.from), "PeerUnknown"),
    ("a peer is unknown on the other node", Location::Overlay, |scene| unknown_peer(&mut scene.to), "PeerUnknown"),
    ("an uplink is down", Location::Uplink, uplink_down, "NicLost"),
    ("the network is not programmed", Location::Overlay, |scene| failed(scene, "BridgeExists"), "BridgeExists"),
    ("the MTU does not fit into the tunnel", Location::Overlay, |scene| failed(scene, "MtuTooLarge"), "MtuTooLarge"),
    (
        "the agent reports the engine as down",
        Location::Overlay,
        |scene| failed(scene, "EngineUnreachable"),
        "EngineUnreachable",
    ),
    (
        "the engine went down just now",
        Location::OneNode,
        |scene| scene.from.failures.push("refused".into()),
        "EngineUnreachable",
    ),
    ("a port was removed", Location::OneNode, |scene| scene.port("b", |port| port.is_there = false), "PortMissing"),
    (
        "a port failed",
        Location::OneNode,
        |scene| scene.port("a", |port| port.problem = Some("no memory".into())),
        "PortFailed",
    ),
    (
        "a pod is not attached",
        Location::OneNode,
        |scene| scene.port("b", |port| port.is_attached = false),
        "NotAttached",
    ),
    ("a node does not have the network", Location::NodeLocal, nowhere, "NetworkNotOnNode"),
];

fn not_drained(scene: &mut Scene) {
    scene.port("b", |port| {
        port.counters.receive.packets = port.counters_before.receive.packets;
        port.counters.receive.dropped = Some(700);
    });
}

fn vlans_differ(scene: &mut Scene) {
    scene.port("b", |port| {
        port.vlan = "VLAN 7".into();
        port.recorded_vlan = "VLAN 7".into();
    });
}

fn unknown_peer(facts: &mut BridgeFacts) {
    facts.overlay.as_mut().unwrap().peers.clear();
}

fn uplink_down(scene: &mut Scene) {
    scene.state("node-b", &json!({"uplinks": [uplink("Failed", "NicLost")]}));
}

fn failed(scene: &mut Scene, reason: &str) {
    let report = network_report("blue", "Failed", &json!({"reason": reason, "message": "as it is"}));
    scene.state("node-b", &json!({"networks": [report]}));
}

fn nowhere(scene: &mut Scene) {
    add_network(&mut scene.snapshot, &network_object("blue", &json!({"nodeSelector": {"matchLabels": {"rack": "z"}}})));
}

#[test]
fn each_fault_has_its_cause_and_a_remedy() {
    for (what, location, break_it, cause) in FAULTS {
        let mut scene = Scene::new(location);
        break_it(&mut scene);
        let report = scene.report();
        let conclusion = &report.conclusion;
        assert_eq!(conclusion.cause, cause, "{what}: {report:#?}");
        assert!(
            !conclusion.why.is_empty() && !conclusion.remedy.is_empty() && !conclusion.is_ok(),
            "{what}: {conclusion:?}"
        );
        assert!(report.steps.iter().any(|step| step.outcome == Outcome::Failed), "{what}: {report:#?}");
        let text = text(&report);
        assert!(text.contains("FAILS") && text.contains(cause), "{what}: {text}");
    }
}

#[test]
fn unknown_steps_are_not_failures() {
    let mut scene = Scene::new(Location::Overlay);
    scene.from.macs.clear();
    scene.to.macs.clear();
    scene.port("a", |port| port.counters = PortCounters::default());
    let report = scene.report();
    assert_eq!(report.conclusion.cause, "NothingFound", "{report:#?}");
    assert!(report.conclusion.is_ok() && text(&report).contains("unknown"), "{report:#?}");
}

#[test]
fn pods_without_a_common_network_are_reported() {
    let mut scene = Scene::new(Location::OneNode);
    add_network(&mut scene.snapshot, &network_object("green", &json!({})));
    add(
        &mut scene.snapshot,
        &pod_object("c", &json!({"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "green"}}})),
    );
    let both = json!({"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": "green,blue"}}});
    add(&mut scene.snapshot, &pod_object("d", &both));
    add(&mut scene.snapshot, &pod_object("e", &both));
    let common = |one: &str, other: &str, wanted: Option<&str>| {
        let wanted = wanted.map(|name| name.parse().unwrap());
        common_network(&scene.snapshot, [scene.pod(one), scene.pod(other)], wanted.as_ref())
    };
    assert_eq!(common("a", "d", None), Ok("blue".to_owned()));
    assert_eq!(common("d", "e", Some("green")), Ok("green".to_owned()));
    assert_eq!(common("d", "e", None), Err(NoCommonNetwork::Ambiguous(vec!["blue".into(), "green".into()])));
    let Err(NoCommonNetwork::None(networks)) = common("a", "c", None) else { panic!("they have none") };
    let report = no_common_network(&scene.snapshot, [scene.pod("a"), scene.pod("c")], &networks);
    assert_eq!(report.conclusion.cause, "NetworksDiffer");
    assert!(report.conclusion.why.contains("web/a has blue, web/c has green"), "{report:?}");
}

/// The network has policies, and one of the namespace of both pods allows connections of pod a to
/// port 5432.
fn policies() -> Scene {
    let mut scene = Scene::new(Location::OneNode);
    let spec = json!({"policies": "Enabled", "port": {"antiSpoofing": "Address"}});
    add(&mut scene.snapshot, &network_object("blue", &spec));
    let rule = json!({"peers": ["10.9.0.1/32"], "ports": [{"protocol": "TCP", "first": 5432, "last": 5432}]});
    add(
        &mut scene.snapshot,
        &json!({
            "apiVersion": "usnet.dev/v1alpha1", "kind": "CompiledPolicy", "metadata": {"name": "web.db"},
            "spec": {"networks": ["blue"], "namespace": "web", "name": "db", "generation": 1, "ingress": [rule]},
        }),
    );
    scene.port("a", |port| port.addresses = vec!["10.9.0.1".parse().unwrap()]);
    scene.port("b", |port| port.addresses = vec!["10.9.0.2".parse().unwrap()]);
    scene
}

#[test]
fn policies_say_whether_a_connection_is_allowed() {
    let mut scene = policies();
    let steps = |report: &Report| report.steps.iter().map(|step| step.what.clone()).collect::<Vec<_>>().join("\n");
    let report = scene.report();
    assert_eq!(report.conclusion.cause, "NothingFound");
    assert!(steps(&report).contains("policies restrict connections to web/b net1: name a connection"), "{report:#?}");

    scene.target = "tcp/5432".parse().ok();
    let report = scene.report();
    assert_eq!(report.conclusion.cause, "Passes", "{report:#?}");
    assert!(steps(&report).contains("no policy restricts connections of web/a net1"), "{report:#?}");
    assert!(steps(&report).contains("policy web/db allows tcp/5432 from 10.9.0.1 to 10.9.0.2"), "{report:#?}");

    for other in ["tcp/5433", "udp/5432", "icmp"] {
        scene.target = other.parse().ok();
        let conclusion = scene.report().conclusion;
        assert_eq!(conclusion.cause, "NotAllowed", "{other}");
        assert!(conclusion.why.contains(&format!("no policy of namespace web allows {other} from 10.9.0.1")));
    }
    scene.port("a", |port| port.addresses.clear());
    assert_eq!(scene.report().conclusion.cause, "NothingFound", "the address of the sender is unknown");
}

#[test]
fn policies_of_other_networks_and_of_a_network_without_policies_say_nothing() {
    let mut scene = policies();
    scene.target = "tcp/5433".parse().ok();
    scene.snapshot.policies[0].networks = ["red".parse().unwrap()].into();
    assert_eq!(scene.report().conclusion.cause, "Passes");
    let mut scene = policies();
    scene.target = "tcp/5433".parse().ok();
    add(&mut scene.snapshot, &network_object("blue", &json!({})));
    assert_eq!(scene.report().conclusion.cause, "Passes");
}
